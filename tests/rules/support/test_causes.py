"""Findings as one story: who explains whom, and who does not."""

from dataclasses import replace

import pytest

from l4strace.model import Analysis, Cause, Confidence, Finding, Severity
from l4strace.rules import RULES
from l4strace.rules.support.causes import LINKS, linked
from l4strace.wording.order import root
from l4strace.wording.verdict import verdict
from tests.support.frames import frame


def finding(rule: str, severity: Severity = Severity.ERROR, **more) -> Finding:
    place = {"flow": 1, "forward": True, "headline": f"Headline of {rule}", "action": f"Do {rule}."}
    return Finding(severity, Confidence.HIGH, f"Message of {rule}.", rule=rule, **(place | more))


BUG = finding("L4S302")
MISFIRE = finding("L4S301", variant="misfire", span_ns=(5, 90))
STARVES = finding("L4S501", Severity.WARNING, span_ns=(40, 90))


BESIDE = frame("coexistence", flow=1, other_flow=3)


def causes(*findings: Finding) -> dict[str, Cause | None]:
    return {one.rule: one.cause for one in linked(findings, BESIDE)}


def test_bug_misfire_and_starvation_are_one_story_with_one_remedy():
    story = linked((MISFIRE, BUG, STARVES), BESIDE)
    assert [one.cause and one.cause.rule for one in story] == ["L4S302", None, "L4S301"]
    assert {root(one, story).rule for one in story} == {"L4S302"}
    analysis = Analysis(story, rules=RULES)
    opening = verdict(analysis, 2)
    assert opening.finding == story[0]
    assert opening.action(analysis) == BUG.action
    assert story[2].action == "Mend the cause, L4S301: headline of L4S301."


def test_what_is_not_sure_or_of_another_flow_explains_nothing():
    weak = replace(MISFIRE, confidence=Confidence.LOW)
    mild = replace(MISFIRE, severity=Severity.NOTICE)
    other = replace(MISFIRE, flow=2)
    unused = replace(MISFIRE, variant="unused")
    late = replace(MISFIRE, span_ns=(91, 99))
    for cause in (weak, mild, other, unused, late):
        assert causes(cause, STARVES)["L4S501"] is None
    assert causes(replace(MISFIRE, confidence=Confidence.MEDIUM), STARVES)["L4S501"] is not None


def test_a_cause_that_is_likely_is_called_so():
    likely = replace(MISFIRE, confidence=Confidence.MEDIUM)
    assert linked((likely, STARVES), BESIDE)[1].action.startswith("Mend the likely cause, L4S301")


def test_a_greedy_sender_explains_the_starvation_of_another_flow_only():
    inert = finding("L4S305", Severity.WARNING, flow=3, variant="off")
    assert causes(inert, STARVES)["L4S501"] == Cause("L4S305", 3, True)
    assert linked((inert, STARVES), BESIDE)[1].action.startswith(
        "Mend the cause, L4S305 of flow 3:"
    )
    # Not the flow itself, not one of another path, and not one that sends the other way.
    for elsewhere in ({"flow": 1}, {"flow": 9}, {"forward": False}):
        assert causes(replace(inert, **elsewhere), STARVES)["L4S501"] is None


@pytest.mark.parametrize("link", LINKS)
def test_every_link_joins_two_rules_that_exist_and_no_story_is_a_circle(link):
    assert {link.effect, link.cause} <= {rule.code for rule in RULES}
    seen = {link.effect}
    ahead = {link.cause}
    while ahead:
        assert not seen & ahead
        seen |= ahead
        ahead = {other.cause for other in LINKS if other.effect in ahead}
