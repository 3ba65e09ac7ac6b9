"""A path that stops to mark."""

import polars as pl

from l4strace.rules.l4s409_marking_stopped import check
from tests.support.frames import evidence
from tests.support.phases import phases
from tests.support.scenes import DIRECTIONS, FLOWS, two_flows


def found(**columns: object):
    made = phases(50.0, 50.0, 50.0, **columns)
    return check(two_flows(phases=made))


CHANGED = [None, "marking", "marking"]


def test_fires_with_the_gap_and_its_losses() -> None:
    (finding,) = found(changed=CHANGED, marks=[90, 0, 80], losses=[0, 47, 0])
    assert finding.message == (
        "The path did not mark from t=5.0 s to t=10.0 s, while 47 packets were retransmitted; it "
        "marks at other times."
    )


def test_far_from_the_sender_losses_are_a_lower_bound() -> None:
    made = phases(50.0, 50.0, 50.0, changed=CHANGED, marks=[90, 0, 80], losses=[0, 47, 0])
    for place, words in (("server", "while at least 47 packets"), ("client", "while 47 packets")):
        flows = FLOWS.with_columns(vantage=pl.lit(place))
        (finding,) = check(evidence(flows=flows, directions=DIRECTIONS, phases=made))
        assert words in finding.message


def test_fires_on_a_gap_with_a_queue_and_on_one_at_the_start() -> None:
    (finding,) = found(changed=CHANGED, marks=[90, 0, 80])
    assert "although the queue stood higher" in finding.message
    (first,) = found(changed=[None, "marking", None], marks=[0, 90, 80], losses=[9, 0, 0])
    assert first.message.startswith("The path did not mark from t=0.000 s to t=5.0 s")


def test_silent_on_other_changes_and_on_quiet_phases() -> None:
    assert found(marks=[90, 0, 80], losses=[0, 47, 0]) == []
    assert found(changed=CHANGED) == []
