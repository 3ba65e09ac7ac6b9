"""What rules share: one capture a direction, and a readable number of findings."""

from l4strace.derive import vantage
from l4strace.model import Confidence, Finding, Severity, Skipped
from l4strace.rules.support import subjects
from tests.support.frames import evidence, frame


def test_of_two_captures_the_one_near_the_sender_is_judged() -> None:
    flows = frame("flows", source=[0, 1], vantage=["server", "client"])
    directions = frame("directions", source=[0, 1, 0, 1], forward=[True, True, False, False])
    nearest = vantage.nearest(evidence(flows=flows, directions=directions))
    assert sorted(nearest.rows()) == [(0, 0, False, 1), (1, 0, True, 0)]


def test_many_findings_become_the_worst_and_a_count() -> None:
    mild = [Finding("L4S401", Severity.INFO, Confidence.HIGH, f"{i}", flow=i) for i in range(30)]
    bad = Finding("L4S401", Severity.ERROR, Confidence.HIGH, "bad", flow=99)
    skipped = Skipped("L4S401", "some")
    said = subjects.capped([*mild, bad, skipped])
    assert said[0] is bad
    assert said[-1] is skipped
    assert said[-2].message == "The same kind of finding holds of 11 more flow directions."
    assert subjects.capped([*mild[:20], skipped]) == [*mild[:20], skipped]
