"""The headline: worst first, causes before consequences."""

from l4strace.model import Analysis, Confidence, Finding, Severity, Skipped
from l4strace.rules import RULES
from l4strace.wording.verdict import verdict


def finding(rule: str, severity: Severity, confidence: Confidence = Confidence.HIGH) -> Finding:
    return Finding(rule, severity, confidence, f"message of {rule}")


def test_the_worst_finding_is_the_headline():
    found = (finding("L4S501", Severity.WARNING), finding("L4S104", Severity.ERROR))
    assert verdict(Analysis(found), 3).sentence == "message of L4S104"


def test_a_cause_comes_before_its_consequence():
    found = (finding("L4S501", Severity.ERROR), finding("L4S301", Severity.ERROR))
    assert verdict(Analysis(found), 3).sentence == "message of L4S301"


def test_low_confidence_comes_last():
    found = (finding("L4S301", Severity.ERROR, Confidence.LOW), finding("L4S501", Severity.ERROR))
    assert verdict(Analysis(found), 3).sentence == "message of L4S501"


def test_notices_do_not_make_a_verdict_alone():
    mild = verdict(Analysis((finding("L4S004", Severity.NOTICE),)), 1)
    assert mild.sentence == "Nothing seriously wrong in 1 flow. message of L4S004"
    assert mild.severity is Severity.NOTICE


def test_absence_is_not_health():
    skipped = (Skipped("L4S107", "one capture", 0), Skipped("L4S107", "one capture", 1))
    quiet = verdict(Analysis((), skipped, RULES[:12]), 2)
    assert quiet.sentence == "Nothing wrong found in 2 flows; 1 of 12 rules could not judge."
    assert quiet.severity is None
    empty = verdict(Analysis((), (), RULES), 0)
    assert empty.sentence == "No TCP flow found: nothing to judge."
    assert empty.severity is None
