"""The headline: worst first, causes before consequences."""

from l4strace.evidence import Evidence
from l4strace.model import Analysis, Confidence, Finding, Rule, Severity, Skipped
from l4strace.wording.verdict import verdict


def finding(rule: str, severity: Severity, confidence: Confidence = Confidence.HIGH) -> Finding:
    return Finding(rule, severity, confidence, f"message of {rule}")


def none_found(evidence: Evidence) -> list[Finding | Skipped]:
    return []


def test_the_worst_finding_speaks():
    found = (finding("L4S501", Severity.WARNING), finding("L4S104", Severity.ERROR))
    assert verdict(Analysis(found), 3).sentence == "message of L4S104"


def test_a_cause_speaks_before_its_consequence():
    found = (finding("L4S501", Severity.ERROR), finding("L4S301", Severity.ERROR))
    assert verdict(Analysis(found), 3).sentence == "message of L4S301"


def test_what_is_not_sure_speaks_last():
    found = (finding("L4S301", Severity.ERROR, Confidence.LOW), finding("L4S501", Severity.ERROR))
    assert verdict(Analysis(found), 3).sentence == "message of L4S501"


def test_notices_do_not_make_a_verdict_alone():
    said = verdict(Analysis((finding("L4S004", Severity.NOTICE),)), 1)
    assert said.sentence.startswith("Nothing seriously wrong")


def test_absence_is_not_health():
    asked = tuple(Rule(code, code.lower(), "", check=none_found) for code in ("L4S104", "L4S107"))
    said = verdict(Analysis((), (Skipped("L4S107", "one capture"),), asked), 1)
    assert "1 of 2 rules could not judge" in said.sentence
    assert verdict(Analysis(()), 0).severity is None
    assert "nothing to judge" in verdict(Analysis(()), 0).sentence
