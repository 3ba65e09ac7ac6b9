"""Marks by one-way delay, where there are captures of both ends."""

from __future__ import annotations

from l4strace.schema.words import CLASSIC_OR_PER_FLOW
from tests.support.frames import frame, stack
from tests.support.queues import CUBIC, PRAGUE, marked_above, of, sawtooth, verdict


def test_a_packet_that_overtook_others_is_no_floor_of_the_one_way_delay() -> None:
    """Lab runs s1001-056 and s901-010: it skips half of the path, so marks seemed late."""
    queue = sawtooth(0, 1_100)
    there = {
        "owd_min_us": [100.0 if n % 7 == 3 else 14_000.0 for n in range(200)],
        "marked_owd_min_us": [15_000.0 if q >= 900 else None for q in queue],
    }
    made = of(queue, ce_best=marked_above(queue, 900), **there)
    paths = frame("paths", near=0, far=1, marked_owd_p10_us=15_000.0, marked_owd_median_us=15e3)
    late = frame("directions", data_ect1=1_000, data_packets=1_000, overtaken=[30])
    row = verdict(directions=late, rounds=made, paths=paths)
    assert (row["kind"], row["marking_delay_us"]) == ("l4s", 1_000.0)


def test_marks_of_neighbours_are_measured_one_way_too() -> None:
    """Lab run s901-117: by RTT a mark of fq_codel seemed early, and its classic flows marked by
    DualPI2."""
    own, other = sawtooth(16_000, 40_000), sawtooth(18_000, 40_000, period=34)
    late = [
        {
            "owd_min_us": [0.0, *(queue for queue in queues[1:])],
            "marked_owd_min_us": [q if q >= 30_000 else None for q in queues],
            "marked_rtt_min_us": [10_500.0 if q >= 30_000 else None for q in queues],
        }
        for queues in (own, other)
    ]
    marks = [marked_above(queues, 30_000, 1) for queues in (own, other)]
    made = stack(
        of(own, ce_best=marks[0], **late[0]),
        of(other, flow=1, ce_best=None, ece_acks=marks[1], **late[1]),
    )
    paths = frame(
        "paths", flow=[0, 1], near=0, far=1, marked_owd_p10_us=31e3, marked_owd_median_us=35e3
    )
    both_ways = {"directions": stack(PRAGUE, CUBIC), "rounds": made, "paths": paths}
    assert verdict(1, **both_ways)["kind"] == "per-flow"


def test_a_marked_packet_that_overtook_others_shows_no_low_marks() -> None:
    """Lab run s1201-081: "Marks begin at 0 us" behind fq_codel, whose marks come from 21 ms on."""
    queue = [0.0, 0.0, *sawtooth(16_000, 40_000)]
    there = {
        "owd_min_us": [100.0 if n % 7 == 3 else q for n, q in enumerate(queue)],
        "marked_owd_min_us": [
            (100.0 if n % 7 == 3 else q) if q >= 30_000 else None for n, q in enumerate(queue)
        ],
    }
    made = of(queue, ce_best=marked_above(queue, 30_000, 1), **there)
    paths = frame("paths", near=0, far=1, marked_owd_p10_us=31e3, marked_owd_median_us=35e3)
    late = frame("directions", data_ect1=1_000, data_packets=1_000, overtaken=[30])
    row = verdict(directions=late, rounds=made, paths=paths)
    assert (row["kind"], row["marking_delay_us"]) == (CLASSIC_OR_PER_FLOW, 31_000.0)
