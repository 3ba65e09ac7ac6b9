"""Which queues an AQM left without a mark, and whether flows wait in one."""

from __future__ import annotations

from typing import Any

import pytest

from l4strace.derive import border, bottlenecks
from tests.support.features import PLAIN


def features(**changed: Any) -> dict[str, Any]:
    """A flow whose queues beyond the border are all marked, beside one in the same queue."""
    plain = {
        "marking_delay_us": 12_000.0,
        "high_rounds": 200,
        "high_unmarked": 0,
        "high_acked": 400,
        "high_marks": 400,
        "classic_slots": 50,
        "classic_gap": 0.05,
        "classic_corr": 0.9,
        "classic_queue_us": 20_000.0,
        "classic_own_queue_us": 21_000.0,
    }
    return PLAIN | plain | changed


@pytest.mark.parametrize(
    ("changed", "tolerated"),
    [
        ({}, False),
        ({"far_unmarked": 3}, True),  # few of 200 rounds, but no jitter explains them
        ({"far_unmarked": 2}, False),
        ({"path_far_unmarked": 3}, True),
        ({"path_far_unmarked": 3, "classic_corr": 0.1}, False),  # of another queue
        # Lab run s1201-142: at 135 ms of RTT the queue that all share is mostly empty.
        ({"path_far_unmarked": 3, "noise_us": 20_000.0}, True),
        ({"crossed": 3}, True),
    ],
)
def test_packets_that_waited_far_beyond_the_border_show_tolerance(
    changed: dict[str, Any], tolerated: bool
) -> None:
    assert border.tolerated(features(**changed)) is tolerated


@pytest.mark.parametrize(
    ("changed", "one"),
    [
        ({}, True),
        ({"classic_own_queue_us": 2_000.0}, False),  # an L4S AQM lets a queue of 2 ms stand
        ({"noise_us": 20_000.0}, False),
        ({"classic_corr": 0.3}, False),
        ({"classic_slots": 5}, False),
    ],
)
def test_one_long_queue_is_equal_and_parallel_delays(changed: dict[str, Any], one: bool) -> None:
    assert border.in_one_queue(features(**changed), "classic") is one


STEP = {"high_rounds": 0, "classic_high": 20, "classic_high_unmarked": 0, "classic_ect0": 50}
STEP |= {"classic_own_marked": 30, "classic_marked_slots": 24}


@pytest.mark.parametrize(
    ("changed", "often"),
    [
        ({}, True),
        ({"classic_marked_slots": 23}, False),  # coupled marks are rarer (RFC 9332 section 2.4)
        ({"classic_own_marked": 2, "classic_marked_slots": 2}, False),
        ({"classic_slots": 9}, False),
        ({"classic_ect0": 0}, False),  # Not-ECT: what they report is no mark of theirs
        ({"classic_high_unmarked": 4}, False),  # lab run s1701-006: no step lets these through
    ],
)
def test_one_step_marks_both_kinds_in_as_many_moments(changed: dict[str, Any], often: bool) -> None:
    """Lab runs s1601-005 and s1601-113: a step at 1 ms that all share."""
    ect1 = features(marked_as="ect1", **STEP | changed)
    assert border.as_often(ect1) is often
    names = {"classic_own_marked": "scalable_marked_slots", "classic_slots": "scalable_slots"}
    names |= {"classic_marked_slots": "scalable_own_marked", "classic_high": "high_rounds"}
    names |= {"classic_high_unmarked": "high_unmarked"}
    ect0 = features(**{names.get(key, key): ect1[key] for key in ect1} | {"marked_as": "ect0"})
    assert border.as_often(ect0) is (often or changed == {"classic_ect0": 0})
    assert not border.as_often(ect0 | {"marked_as": "not_ect"})


def test_a_queue_three_times_longer_is_another_queue() -> None:
    assert border.isolated(features(other_us=80_000.0), "classic_queue_us", "other_us")
    assert not border.isolated(features(other_us=50_000.0), "classic_queue_us", "other_us")


def test_a_packet_more_is_no_queue_more() -> None:
    """Lab run s1501-075: 2.1 ms and 0.3 ms at 5 Mbit/s, behind a step that all share."""
    waits = features(short_us=255.0, long_us=2_111.0)
    assert border.isolated(waits, "short_us", "long_us")
    assert not border.isolated(waits | {"serialisation_us": 2_490.0}, "short_us", "long_us")


def test_marks_of_ect0_packets_at_as_many_moments_show_no_second_queue() -> None:
    """Lab run s1601-113: a step at 1 ms that all share, which few ECT(0) packets meet."""
    seen = {"marked_as": "ect1", "deaf": False, "began": True, "rounds": 400, "marked_rounds": 9}
    seen |= {"marks": 40, "acked": 9_000, "queue_delay_us": 300.0, "marking_delay_us": 1_020.0}
    seen |= {"marked_parts": 6, "classic_slots": 58, "classic_ect0": 58, "classic_high": 0}
    seen |= {"classic_queue_us": 347.0, "classic_own_queue_us": 300.0, "classic_gap": 0.6}
    seen |= {"classic_corr": 0.1, "classic_marks": 2, "classic_mark_delay_us": 900.0}
    seen |= {"classic_high_unmarked": 0, "high_acked": 0, "high_marks": 0}
    seldom = {"classic_own_marked": 30, "classic_marked_slots": 2}
    assert bottlenecks._verdict(PLAIN | seen | seldom)[0] == "l4s"
    often = {"classic_own_marked": 7, "classic_marked_slots": 9}
    kind, _, reason = bottlenecks._verdict(PLAIN | seen | often)
    assert kind == "unknown"
    assert "in about as many moments" in reason


def test_marks_of_one_overshoot_do_not_show_how_often_ect0_packets_are_marked() -> None:
    """Lab runs s2001-149, s2001-153 and s2101-107: slow start sent most of a flow's packets."""
    shown = {"ect0_marks": 105, "ect0_ratio": 0.97, "ect0_counted": True}
    assert not border.uncoupled(features(**shown, ect0_parts=2))
    assert border.uncoupled(features(**shown, ect0_parts=3))
    assert border.uncoupled(features(**shown, ect0_parts=None))
    # Nothing reports their marks where the path clears the feedback.
    assert border.uncoupled(features(**shown, ect0_parts=0, cleared=True))
    assert border.uncoupled(features(**shown | {"ect0_counted": False}, ect0_parts=2))


def test_half_of_many_packets_beyond_the_border_without_a_mark_show_no_step() -> None:
    """Lab run s2001-098: CoDel at 2.4 Mbit/s, 500 of 987. Behind steps 0.73 and more."""
    assert border.tolerated(features(high_acked=987, high_marks=500))
    assert not border.tolerated(features(high_acked=987, high_marks=720))
    assert not border.tolerated(features(high_acked=90, high_marks=50))


def test_delays_that_move_less_than_the_packets_of_a_round_are_no_queue() -> None:
    """Lab run s2401-035: 8 ms of jitter in order at 89 Mbit/s, 12.5 ms of delay in all rounds."""
    still = {"queue_delay_us": 12_520.0, "queue_high_us": 12_990.0, "noise_us": 5_170.0}
    assert border.unmoved(features(**still, flat=False))
    assert not border.unmoved(features(**still, flat=True))
    # Lab run s2101-042: RED that holds 13.5 ms.
    red = {"queue_delay_us": 13_540.0, "queue_high_us": 14_550.0, "noise_us": 1_160.0}
    assert not border.unmoved(features(**red, flat=False))
    assert not border.unmoved(features(**still | {"noise_us": 0.0}, flat=False))


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({}, "l4s"),
        ({"met_peak": False}, None),  # it may have sent at another time
        ({"queue_max_us": 28_000.0}, None),  # it waited, too
        ({"first_marking_us": 9_000.0}, None),
        ({"path_max_us": 9_000.0}, None),
        ({"began": False, "flat": False}, None),  # its smallest RTT may hide a queue
    ],
)
def test_marks_of_a_flow_that_never_waits_beside_an_overshoot_are_of_another_queue(
    changed: dict[str, Any], kind: str | None
) -> None:
    """Run s8102-000: four marks at 0.01 ms while slow start of CUBIC filled 29 ms."""
    seen = {"marked_as": "ect1", "began": True, "queue_max_us": 500.0, "path_max_us": 29_000.0}
    seen |= {"met_peak": True, "first_marking_us": 10.0}
    found = border.spared(PLAIN | seen | changed)
    assert (found and found[0]) == kind


def test_marks_of_a_start_begin_at_the_first_of_them() -> None:
    """A run of seed 8201: no table of bottlenecks at all, as no later mark had a delay."""
    early = PLAIN | {"marking_delay_us": None, "first_marking_us": 9_000.0}
    assert border.at(early) == "Marks begin at 9 ms of queue delay"
    assert border.at(early | {"first_marking_us": None}) == "Packets are marked"
