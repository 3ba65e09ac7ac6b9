"""`explain`: a rule's manual page."""

from l4strace import rules
from l4strace.errors import UsageError


def test_by_code_by_number_and_by_name(call):
    pages = {call("explain", word).stdout for word in ("L4S104", "104", "l4s104", "ecn-bleached")}
    assert len(pages) == 1
    assert "When it is wrong" in pages.pop()


def test_without_a_word_all_rules_are_listed(call):
    assert len(call("explain").stdout.splitlines()) == len(rules.RULES)


def test_an_unknown_code(call):
    assert isinstance(call("explain", "L4S999").exception, UsageError)
