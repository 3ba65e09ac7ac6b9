"""The headline: worst first, causes before consequences."""

from dataclasses import replace

from l4strace.model import Analysis, Confidence, Finding, Severity, Skipped, Status, VerdictLines
from l4strace.rules import RULES
from l4strace.wording.verdict import verdict


def finding(rule: str, severity: Severity, confidence: Confidence = Confidence.HIGH) -> Finding:
    return Finding(severity, confidence, f"message of {rule}", rule=rule)


def test_the_worst_finding_is_the_headline():
    found = (finding("L4S501", Severity.WARNING), finding("L4S104", Severity.ERROR))
    assert verdict(Analysis(found), 3).sentence == "message of L4S104"


def test_a_cause_comes_before_its_consequence():
    found = (finding("L4S501", Severity.ERROR), finding("L4S301", Severity.ERROR))
    assert verdict(Analysis(found), 3).sentence == "message of L4S301"


def test_low_confidence_does_not_lead():
    found = (finding("L4S301", Severity.ERROR, Confidence.LOW), finding("L4S501", Severity.ERROR))
    assert verdict(Analysis(found), 3).sentence == "message of L4S501"
    for severity in (Severity.WARNING, Severity.ERROR):
        weak = finding("L4S503", severity, Confidence.LOW)
        alone = verdict(Analysis((weak,)), 3)
        doubted = "No error or warning of more than low confidence in 3 flows."
        assert (alone.sentence, alone.severity) == (doubted, Severity.NOTICE)
        assert alone.told is None
        mild = verdict(Analysis((weak, finding("L4S405", Severity.NOTICE))), 3)
        assert mild.sentence == f"{doubted} message of L4S405"


def test_a_change_of_the_path_leads_the_spike_that_it_made():
    """A recording of 2020: 47.8 to 4.83 Mbit/s, and the verdict was the spike."""
    spike = finding("L4S503", Severity.NOTICE, Confidence.MEDIUM)
    change, jitter = finding("L4S408", Severity.NOTICE), finding("L4S405", Severity.NOTICE)
    assert verdict(Analysis((spike, jitter, change)), 1).finding == change
    assert verdict(Analysis((spike, jitter)), 1).finding == spike
    long = replace(spike, severity=Severity.WARNING)
    assert verdict(Analysis((long, change)), 1).finding == long


def test_notices_do_not_make_a_verdict_alone():
    mild = verdict(Analysis((finding("L4S004", Severity.NOTICE),)), 1)
    assert mild.sentence == "Nothing seriously wrong in 1 flow. message of L4S004"
    assert mild.severity is Severity.NOTICE


def test_absence_is_not_health():
    skipped = (Skipped("one capture", 0, rule="L4S107"), Skipped("one capture", 1, rule="L4S107"))
    quiet = verdict(Analysis((), skipped, RULES[:12]), 2)
    assert quiet.sentence == "Nothing wrong found in 2 flows; 1 of 12 rules could not judge."
    assert quiet.severity is None
    empty = verdict(Analysis((), (), RULES), 0)
    assert empty.sentence == "No flow to judge."
    assert (empty.severity, empty.judged) == (None, False)


def test_flows_over_udp_are_judged_as_far_as_they_are_shown():
    counted = "1 flow over UDP (RTP). Queue and response to marks are not judged."
    status = Status("partly", "In part.", udp_flows=2, udp_judged=1, unjudged=counted)
    skipped = (Skipped("no rate", rule="L4S206"),)
    found = verdict(Analysis((), skipped, RULES[:12], status=status), 0)
    assert found.headline == "Nothing wrong found in 1 flow over UDP"
    assert found.paragraph == f"{counted} 1 of 12 rules could not judge."
    assert (found.severity, found.judged) == (None, False)
    beside = verdict(Analysis((), (), RULES, status=status._replace(flows=2)), 2)
    assert beside.headline == "Nothing wrong found in 2 TCP flows and 1 flow over UDP"
    assert beside.judged
    mild = Analysis((finding("L4S004", Severity.NOTICE),), (), RULES, status=status)
    assert verdict(mild, 0).paragraph == f"message of L4S004 {counted}"


def test_flows_over_udp_of_which_nothing_is_shown_are_not_judged():
    status = Status("partly", "In part.", udp_flows=1, unjudged="1 flow over UDP (QUIC).")
    found = verdict(Analysis((), (), RULES, status=status), 0)
    assert found.headline == "Nothing to judge in 1 flow over UDP"
    assert (found.paragraph, found.judged) == (status.unjudged, False)
    beside = verdict(Analysis((), (), RULES, status=status._replace(flows=1)), 1)
    assert beside.headline == "Nothing wrong found in 1 TCP flow"


def test_a_log_alone_gives_no_all_clear():
    status = Status("unknown", "Unknown: a kernel log holds no packets.")
    quiet = verdict(Analysis((), (), RULES, status=status), 2)
    assert quiet.sentence == "No packets, and the log shows no fault in 2 flows."
    assert not quiet.judged
    mild = verdict(Analysis((finding("L4S008", Severity.NOTICE),), (), RULES, status=status), 1)
    assert mild.sentence == ("No packets, and the log shows no fault in 1 flow. message of L4S008")
    seen = Status("no", "Not L4S.", flows=2)
    assert verdict(Analysis((), (), RULES, status=seen), 2).judged


def test_a_choice_of_rules_gives_no_all_clear():
    one = verdict(Analysis((), (), RULES[:1], known_rules=54), 2)
    assert one.sentence == "1 of 54 rules: nothing found in 2 flows."
    assert not one.judged
    assert verdict(Analysis((), (), RULES, known_rules=len(RULES)), 2).judged
    mild = Analysis((finding("L4S004", Severity.NOTICE),), (), RULES[:2], known_rules=54)
    assert verdict(mild, 1).sentence == (
        "2 of 54 rules: nothing seriously wrong in 1 flow. message of L4S004"
    )


FRAME = VerdictLines("L4S AQM.", "Flow 1 starves.", "Misfires.", starves=True)


def test_a_notice_of_low_confidence_does_not_lead():
    weak = finding("L4S401", Severity.NOTICE, Confidence.LOW)
    sure = finding("L4S503", Severity.NOTICE)
    assert verdict(Analysis((weak, sure)), 1).finding == sure
    alone = verdict(Analysis((weak,)), 1)
    assert alone.sentence == "Nothing wrong found in 1 flow."
    assert alone.severity is Severity.NOTICE


def test_information_is_linked_and_does_not_lead():
    info = finding("L4S401", Severity.INFO)
    quiet = verdict(Analysis((info,)), 1)
    assert (quiet.sentence, quiet.finding) == ("Nothing wrong found in 1 flow.", info)
    unsure = finding("L4S401", Severity.INFO, Confidence.LOW)
    assert verdict(Analysis((unsure,)), 1).finding is None


def test_a_verdict_tells_its_finding_and_carries_the_frame():
    found = finding("L4S301", Severity.ERROR)
    error = verdict(Analysis((found,), frame=FRAME), 2)
    assert (error.told, error.frame) == (found, FRAME)
    assert error.paragraph == f"Flow {found.flow}: {found.message}" or found.flow is None
    info = verdict(Analysis((finding("L4S401", Severity.INFO),), frame=FRAME), 2)
    assert info.finding is not None
    assert info.told is None


def test_nothing_is_called_fine_above_a_flow_that_starves():
    mild = Analysis((finding("L4S503", Severity.NOTICE),), frame=FRAME)
    assert verdict(mild, 2).sentence.startswith("No error and no warning in 2 flows.")


def test_of_several_flows_the_verdict_names_the_one_that_it_is_about():
    """Lab run s1401-038: "The sender did not slow down after loss", of two senders."""
    one = Finding(Severity.WARNING, Confidence.MEDIUM, "The sender did it.", rule="L4S203", flow=1)
    other = replace(one, flow=2)
    assert verdict(Analysis((one,)), 2).sentence == "Flow 1: The sender did it."
    assert (
        verdict(Analysis((one, other)), 3).sentence
        == "Flow 1 (likewise flow 2): The sender did it."
    )
    third = replace(one, flow=0)
    assert verdict(Analysis((one, other, third)), 3).sentence == (
        "Flow 1 (likewise flows 0 and 2): The sender did it."
    )
    crowd = tuple(replace(one, flow=flow) for flow in range(1, 9))
    assert verdict(Analysis(crowd), 9).sentence == (
        "Flow 1 (likewise 7 other flows): The sender did it."
    )
    assert verdict(Analysis((one,)), 1).sentence == "The sender did it."
    path = replace(one, rule="L4S408")
    assert verdict(Analysis((path,)), 2).sentence == "The sender did it."
