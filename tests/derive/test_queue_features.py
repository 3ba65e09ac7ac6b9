"""What the features of bottlenecks rest on: which marks are known, and at which delay."""

from __future__ import annotations

import polars as pl

from l4strace.derive import bottlenecks
from tests.support.frames import capture, frame, stack
from tests.support.queues import CUBIC, FLOWS, PRAGUE, marked_above, of, sawtooth, verdict


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


ZEROED = stack(
    frame("directions", data_ect1=1_000, ce_fed_back_best=2, ceb_bytes=0, e1b_bytes=1_448_000),
    frame("directions", forward=False, ace_first=0, ace_distinct=1),
).with_columns(pl.lit(1_448, pl.UInt32).alias("max_payload"))
"""The path zeroes ACE: the counter seems to have moved once, from 5 to 0."""


def test_a_zeroed_counter_leaves_the_marks_to_the_option() -> None:
    """Lab runs s1001-136 and s1001-146: thousands of marks that ACE did not show."""
    queue = sawtooth(200, 1_100)
    ce_bytes = [1_448 * marks for marks in marked_above(queue, 900)]
    counts = ZEROED.with_columns(ceb_bytes=pl.when("forward").then(900_000).cast(pl.UInt64))
    row = verdict(directions=counts, rounds=of(queue, ce_best=0, ce_bytes=ce_bytes))
    assert (row["kind"], row["marking"]) == ("l4s", "step")


def test_marks_that_only_a_zeroed_counter_reports_are_none() -> None:
    """Lab runs s1001-096 and s1001-128: FIFO and CoDel without ECN, and 2 marks by ACE."""
    lost = [2 if i % 40 == 39 else 0 for i in range(200)]
    first = [2, *[0] * 199]
    made = of(sawtooth(4_000, 20_000), ce_best=first, ce_bytes=0, retransmits=lost)
    assert verdict(directions=ZEROED, rounds=made)["kind"] == "fifo"
    unheard = ZEROED.with_columns(pl.lit(None, pl.UInt64).alias("e1b_bytes"))
    assert verdict(directions=unheard, rounds=made)["kind"] == "unknown"


def test_marks_of_ect0_packets_are_counted_between_two_captures() -> None:
    """Lab run s1001-147: a path that zeroes ACE erases ECE as well, and CoDel marks both."""
    queue = sawtooth(200, 1_100)
    made = stack(of(queue, ce_best=marked_above(queue, 900)), of([100.0] * 8, flow=1, ece_acks=0))
    marks = {"ect1_to_ce": [500, 0], "ect1_to_ect1": [1_500, 0]}
    paths = frame(
        "paths", flow=[0, 1], near=0, far=1, ect0_to_ce=[0, 90], ect0_to_ect0=[0, 10], **marks
    )
    tables = {"directions": stack(PRAGUE, CUBIC), "rounds": made}
    assert verdict(0, **tables)["kind"] == "l4s"
    assert verdict(0, **tables, paths=paths)["kind"] == "shallow"


def test_a_starved_flow_takes_the_kind_of_its_path() -> None:
    """Lab run s1001-062: 140 packets in 37 round trips of 175 ms, half of them marked."""
    queue = sawtooth(200, 1_100)
    steps = of(queue, ce_best=marked_above(queue, 900))
    directions = stack(PRAGUE, CUBIC)
    starved = of([500.0] * 20, flow=1, ece_acks=0, ce_best=None, acked_packets=6)
    assert verdict(1, directions=directions, rounds=stack(steps, starved))["kind"] == "l4s"
    short = of([500.0] * 8, flow=1, ece_acks=0, ce_best=None, acked_packets=15)
    found = bottlenecks.table(
        capture(flows=FLOWS, directions=directions, rounds=stack(steps, short))
    )
    assert found["flow"].to_list() == [0]
