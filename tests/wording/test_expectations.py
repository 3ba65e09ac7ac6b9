"""What was expected of a run, and why it is not so."""

from l4strace.model import Analysis, Confidence, Finding, Severity, Status, Unmet
from l4strace.wording.expectations import (
    EXPECT_OF_UDP,
    EXPECTATIONS,
    MARK,
    NEGOTIATE,
    OF_TCP,
    SEND_ECT1,
    SEND_OVER_UDP,
    unmet,
)
from l4strace.wording.verdict import verdict

NOBODY = Status("no", "No: flow 0 did not request AccECN.", flows=1)
NOT_SENT = Status("no", "No: its data is ECT(0).", flows=1, asked=1, accecn=1)
NO_QUEUE = Status("partly", "In part: it meets no L4S queue.", 1, 1, 1, 1)
HEALTHY = Status("yes", "Yes: it meets an L4S queue.", 1, 1, 1, 1, 1)


def found(rule: str, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(severity, Confidence.HIGH, f"message of {rule}.", f"Mend {rule}.", rule=rule)


def names(status: Status, *findings: Finding) -> list[str]:
    analysis = Analysis(findings, status=status)
    return [one.expectation for one in unmet(analysis, EXPECTATIONS)]


def test_each_step_has_its_expectation() -> None:
    assert names(NOBODY) == ["l4s", "accecn", "ect1"]
    assert names(NOT_SENT) == ["l4s", "ect1"]
    assert names(NO_QUEUE) == ["l4s"]
    assert names(HEALTHY) == []


def test_flows_over_udp_are_not_asked_for_what_tcp_negotiates() -> None:
    sent = Status("partly", "In part: it sends ECT(1).", udp_flows=1, udp_ect1=1)
    not_sent = Status("no", "No: it sends ECT(0).", udp_flows=1)
    assert names(sent) == ["l4s", "accecn"]
    for status, remedy in ((sent, MARK), (not_sent, SEND_OVER_UDP)):
        of_l4s, of_accecn = unmet(Analysis((), status=status), ["l4s", "accecn"])
        assert of_l4s == Unmet("l4s", status.sentence, remedy)
        assert of_accecn == Unmet("accecn", OF_TCP, EXPECT_OF_UDP)
    beside = sent._replace(flows=1)
    of_l4s, of_accecn = unmet(Analysis((), status=beside), ["l4s", "accecn"])
    assert (of_l4s.action, of_accecn.action) == (MARK, NEGOTIATE)
    (gave_up,) = unmet(Analysis((found("L4S210"),), status=not_sent), ["ect1"])
    assert gave_up.action == "Mend L4S210."


def test_a_misfire_is_one_even_in_a_run_that_is_l4s() -> None:
    assert names(HEALTHY, found("L4S301", Severity.ERROR)) == ["no-misfire"]
    assert names(HEALTHY, found("L4S308", Severity.INFO)) == []


def test_the_remedy_is_that_of_the_missing_step() -> None:
    for status, remedy in ((NOBODY, NEGOTIATE), (NOT_SENT, SEND_ECT1), (NO_QUEUE, MARK)):
        assert unmet(Analysis((), status=status), ["l4s"])[0].action == remedy


def test_a_finding_that_shows_the_cause_gives_reason_and_remedy() -> None:
    analysis = Analysis((found("L4S204"), found("L4S603")), status=NOBODY)
    (one,) = unmet(analysis, ["accecn", "accecn"])
    assert one == Unmet("accecn", f"{NOBODY.sentence} message of L4S603.", "Mend L4S603.")


def test_what_was_expected_leads_the_verdict_before_an_error() -> None:
    """A run with tcp_ecn=1 led with the overshoot of its slow start."""
    missing = (Unmet("l4s", "No: nobody asked.", "Set tcp_ecn."),)
    analysis = Analysis((found("L4S204", Severity.ERROR),), status=NOBODY, unmet=missing)
    opening = verdict(analysis, 1)
    assert opening.sentence == "Expected l4s, which is not so. No: nobody asked. Do: Set tcp_ecn."
    assert (opening.severity, opening.headline) == (Severity.ERROR, "Expected l4s: not so")


def test_without_expectation_the_setting_that_excludes_l4s_leads_the_overshoot() -> None:
    analysis = Analysis((found("L4S204"), found("L4S603")), status=NOBODY)
    assert verdict(analysis, 1).finding == analysis.findings[1]
