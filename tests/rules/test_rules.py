"""Every rule is listed, documented, and tested with a firing and a silent case."""

import re
from pathlib import Path

import pytest

from l4strace import rules
from l4strace.errors import UsageError
from l4strace.model import Rule
from l4strace.schema import TABLES
from l4strace.wording.rule_text import passages
from tests.support.rule_reads import reads

FOLDER = Path(rules.__file__).parent
HEADINGS = (
    "What it checks",
    "Why it matters",
    "Evidence",
    "When it is wrong",
    "What to do",
    "References",
)
every_rule = pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.code)


def module_of(rule: Rule) -> str:
    return f"{rule.code.lower()}_{rule.name.replace('-', '_')}"


def test_every_file_is_listed_in_the_order_of_codes():
    files = sorted(path.stem for path in FOLDER.glob("l4s*.py"))
    assert [module_of(rule) for rule in rules.RULES] == files


def test_codes_and_names_are_unique():
    assert len({rule.code for rule in rules.RULES}) == len(rules.RULES)
    assert len({rule.name for rule in rules.RULES}) == len(rules.RULES)


@every_rule
def test_every_rule_has_all_headings_in_order(rule: Rule):
    found = [line for line in rule.doc.splitlines() if line in HEADINGS]
    assert found == list(HEADINGS)


@every_rule
def test_every_rule_belongs_to_a_family_and_fits_a_line(rule: Rule):
    assert re.fullmatch(r"L4S[0-6]\d\d", rule.code)
    assert rule.code[3] in rules.FAMILIES
    assert len(rule.summary) <= 60


@every_rule
def test_every_rule_has_a_firing_and_a_silent_case(rule: Rule):
    tests = (Path(__file__).parent / f"test_{module_of(rule)}.py").read_text()
    assert re.search(r"^def test_\w*fires", tests, re.MULTILINE)
    assert re.search(r"^def test_\w*silent", tests, re.MULTILINE)


@every_rule
def test_every_rule_is_quiet_without_any_evidence(rule: Rule):
    from tests.support.frames import evidence

    assert not [said for said in rule.check(evidence()) if hasattr(said, "severity")]


def test_select_by_code_prefix_and_name():
    assert {rule.code[:4] for rule in rules.select(["L4S1"])} == {"L4S1"}
    assert [rule.code for rule in rules.select(["ecn-bleached", "101"])] == ["L4S101", "L4S104"]
    assert "L4S101" not in [rule.code for rule in rules.select([], ["L4S1"])]
    assert rules.select() == rules.RULES


def test_a_word_that_means_no_rule_is_refused():
    with pytest.raises(UsageError):
        rules.select(["L4S999"])
    with pytest.raises(UsageError):
        rules.find("L4S1")


CHECKED_FAMILIES = "0123456"
"""Families whose Evidence section is compared with the code."""
compared = pytest.mark.parametrize(
    "rule",
    [rule for rule in rules.RULES if rule.code[3] in CHECKED_FAMILIES],
    ids=lambda rule: rule.code,
)
INPUT_WORDS = {"hosts": "host file", "aggregates": "bpftrace"}
"""How an Evidence section names the inputs that are not tables."""


def evidence_words(rule: Rule) -> list[str]:
    """What the Evidence section names in back quotes, a part of a dotted name each."""
    (section,) = [p for p in passages(rule.doc) if p.heading == "Evidence"]
    names = (run.text for part in section.paragraphs for run in part if run.kind == "code")
    return [word for name in names for word in re.findall(r"[a-z_0-9]+", name)]


@compared
def test_the_evidence_section_names_only_what_the_check_reads(rule: Rule):
    read = reads(rule.check.__module__)
    unread = [w for w in evidence_words(rule) if w not in read.inputs and not read.word(w)]
    assert unread == []


@compared
def test_the_evidence_section_names_columns_of_the_right_table(rule: Rule):
    table = None
    for word in evidence_words(rule):
        if word in TABLES:
            table = TABLES[word]
        elif table is not None and any(word in t.schema for t in TABLES.values()):
            assert word in table.schema or table.name == "stats", f"{table.name} has no {word}"


@compared
def test_the_evidence_section_names_every_table_that_the_rule_reads(rule: Rule):
    (section,) = [p for p in passages(rule.doc) if p.heading == "Evidence"]
    text = " ".join(run.text for part in section.paragraphs for run in part)
    named = set(evidence_words(rule))
    for table in reads(rule.check.__module__).own:
        assert table in named or INPUT_WORDS.get(table, table + "!") in text, table


def test_a_column_that_only_a_docstring_or_a_measure_names_is_not_read():
    read = reads("l4strace.rules.l4s009_kernel_log_not_joined")
    assert read.word("flow")
    assert not read.word("clock_offset_ns")
    assert not read.word("joined samples")
    assert {"directions", "kernel", "sources"} <= read.own
