"""`explain`: a rule's manual page."""

import pytest

from l4strace import rules
from l4strace.errors import UsageError


def test_by_code_by_number_and_by_name(call):
    pages = {call("explain", word).stdout for word in ("L4S104", "104", "l4s104", "ecn-bleached")}
    assert len(pages) == 1
    assert "When it is wrong" in pages.pop()


def test_without_a_word_all_rules_are_listed(call):
    lines = call("explain").stdout.splitlines()
    assert [line[:6] for line in lines if not line.startswith(" ")] == [
        rule.code for rule in rules.RULES
    ]


@pytest.mark.parametrize("width", [60, 100])
def test_text_fits_the_terminal(call, monkeypatch: pytest.MonkeyPatch, width: int):
    monkeypatch.setenv("COLUMNS", str(width))
    longest = max(map(len, call("explain", "L4S301").stdout.splitlines()))
    assert width - 20 < longest <= width
    assert max(map(len, call("explain").stdout.splitlines())) <= width


def test_what_rules_check_stands_in_a_column(call, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    lines = call("explain").stdout.splitlines()
    column = lines[0].index(rules.RULES[0].summary)
    more = [line for line in lines if line.startswith(" ")]
    assert more
    assert {len(line) - len(line.lstrip()) for line in more} == {column}


def test_an_unknown_code(call):
    assert isinstance(call("explain", "L4S999").exception, UsageError)
