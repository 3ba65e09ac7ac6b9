"""Every rule is listed, documented, and tested with a firing and a silent case."""

import re
from pathlib import Path

import pytest

from l4strace import rules
from l4strace.errors import UsageError
from l4strace.model import Rule
from l4strace.schema import TABLES
from l4strace.wording.headlines import MAX_OF_A_RULE
from l4strace.wording.rule_text import HEADINGS, passages
from tests.support import synthetic
from tests.support.rule_reads import reads

FOLDER = Path(rules.__file__).parent
every_rule = pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.code)


def module_of(rule: Rule) -> str:
    return f"{rule.code.lower()}_{rule.name.replace('-', '_')}"


def test_every_file_is_listed_in_the_order_of_codes():
    files = sorted(path.stem for path in FOLDER.glob("l4s*.py"))
    assert [module_of(rule) for rule in rules.RULES] == files


@every_rule
def test_a_rule_on_udp_alone_has_nothing_to_say_of_tcp(rule: Rule):
    """So a run without UDP need not be put to it: no finding, and no reason why it cannot judge."""
    for run in (synthetic.misfire(), synthetic.healthy()):
        assert not rule.over_udp or rule.ask(run) == []


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


UNITLESS = re.compile(r"(?<![\w(])\d[\d.,]*(?! ?[\w%])")
"""A number that is no part of a word such as L4S or ECT(1), and has no unit behind it."""


@every_rule
def test_every_rule_has_short_headlines_without_bare_numbers(rule: Rule):
    assert rule.headlines
    for headline in rule.headlines:
        assert len(headline.replace("{flow}", "flow 1").split()) <= MAX_OF_A_RULE, headline
        assert not UNITLESS.search(headline), headline
        assert not headline.endswith(".")


def test_a_bare_number_is_found():
    assert UNITLESS.search("a score of 8")
    for fine in ("L4S AQM", "An ECT(1) sender", "15 % of the path", "3 ms"):
        assert not UNITLESS.search(fine)


@every_rule
def test_every_rule_has_a_firing_and_a_silent_case(rule: Rule):
    tests = (Path(__file__).parent / f"test_{module_of(rule)}.py").read_text()
    assert re.search(r"^def test_\w*fires", tests, re.MULTILINE)
    assert re.search(r"^def test_\w*silent", tests, re.MULTILINE)


@every_rule
def test_every_rule_is_quiet_without_any_evidence(rule: Rule):
    from tests.support.frames import evidence

    assert not [f for f in rule.check(evidence()) if hasattr(f, "severity")]


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


compared = pytest.mark.parametrize("rule", rules.RULES, ids=lambda rule: rule.code)
INPUT_WORDS = {"host_files": "host file", "aggregates": "bpftrace"}
"""How an Evidence section names the inputs that are not tables."""


def evidence_section(rule: Rule) -> tuple[str, list[str]]:
    """Its text, and what it names in back quotes: each part of a dotted name is a word."""
    (section,) = [p for p in passages(rule.doc) if p.heading == "Evidence"]
    parts = [part for paragraph in section.paragraphs for part in paragraph]
    quoted = " ".join(part.text for part in parts if part.kind == "code")
    return " ".join(part.text for part in parts), re.findall(r"\w+", quoted)


@compared
def test_the_evidence_section_names_only_what_the_check_reads(rule: Rule):
    """Tables, columns, names of stats, keys of the host file: every word in back quotes."""
    read = reads(rule.check.__module__)
    _, words = evidence_section(rule)
    assert words
    assert [word for word in words if word not in read.inputs and not read.word(word)] == []


@compared
def test_the_evidence_section_names_columns_of_the_right_table(rule: Rule):
    columns = {column for table in TABLES.values() for column in table.schema}
    table = None
    for word in evidence_section(rule)[1]:
        if word in TABLES:
            table = TABLES[word]
        elif table is not None and table.name != "stats" and word in columns:
            assert word in table.schema, f"{table.name} has no column {word}"


@compared
def test_the_evidence_section_names_every_input_that_the_rule_reads(rule: Rule):
    text, words = evidence_section(rule)
    for name in reads(rule.check.__module__).own:
        assert name in words or INPUT_WORDS.get(name, f"`{name}`") in text, name


def test_a_name_in_a_docstring_a_message_or_a_measure_is_not_read():
    read = reads("l4strace.rules.l4s009_kernel_log_not_joined")
    assert read.own == {"directions", "kernel", "sources", "stats"}
    assert read.word("detail")
    assert not read.word("joined samples")
    assert not read.word("host")


def test_a_column_that_a_helper_reads_is_read():
    read = reads("l4strace.rules.l4s404_queue_over_target")
    assert "vantage" in read.words
    assert "flows" in read.inputs - read.own


def test_a_column_whose_name_the_rule_builds_is_read():
    read = reads("l4strace.rules.l4s107_path_changes_codepoint")
    assert read.word("ce_to_ect1")
    assert not read.word("ace_changed")
