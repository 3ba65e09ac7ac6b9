"""Every rule is listed, documented, and tested with a firing and a silent case."""

import re
from pathlib import Path

import pytest

from l4strace import rules
from l4strace.errors import UsageError
from l4strace.model import Rule

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
