"""Marks by one-way delay, where there are captures of both ends."""

from __future__ import annotations

import polars as pl
import pytest

from l4strace.derive import one_way, queue_features
from l4strace.schema.words import CLASSIC_OR_PER_FLOW
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
            **{f"owd_{of}_us": [0.0, *queues[1:]] for of in ("min", "mean", "max")},
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


SHOWN = {"owd_median_us": 10_500.0, "owd_p99_us": 11_100.0, "owd_max_us": 11_200.0}
QUEUE = sawtooth(0, 1_100)


def shown(overtaken: int = 0, **there: list[float]) -> list[float]:
    """Median, P99 and largest delay of the last flow; `there`: smallest delay of its rounds."""
    made = stack(*(of(QUEUE, flow=n, owd_min_us=owd) for n, owd in enumerate(there.values())))
    flows = list(range(len(there)))
    directions = frame("directions", flow=flows, data_packets=1_000, overtaken=overtaken)
    paths = frame("paths", flow=flows, near=0, far=1, **SHOWN)
    made = one_way.paths(capture(flows=FLOWS, rounds=made, paths=paths, directions=directions))
    return [made[name][-1] for name in SHOWN]


def test_delays_between_captures_are_above_the_empty_queue_of_a_longer_path() -> None:
    longer = [10_000.0 + q for q in QUEUE]
    assert shown(near=QUEUE, far=longer) == [500.0, 1_100.0, 1_200.0]


def test_a_packet_that_overtook_others_is_no_empty_queue() -> None:
    """Run s1501-032: "median 74.5 ms" on a path whose queue is empty."""
    skipping = [0.0 if n % 7 == 3 else 10_000.0 + q for n, q in enumerate(QUEUE)]
    assert shown(overtaken=30, only=skipping) == pytest.approx([500.0, 1_100.0, 1_200.0], abs=60)


def test_a_flow_most_of_whose_rounds_hold_such_packets_takes_the_floor_of_another() -> None:
    """Its own: 0 in two of three rounds."""
    rare, often = (
        [0.0 if n % 7 in skip else 10_000.0 + q for n, q in enumerate(QUEUE)]
        for skip in ((3,), (0, 1, 2, 3, 5))
    )
    assert shown(overtaken=30, rare=rare, often=often) == pytest.approx(
        [500.0, 1_100.0, 1_200.0], abs=60
    )


def test_acks_that_come_late_are_no_queue_between_two_captures() -> None:
    """Run s8101-007: "one queue" behind DualPI2, as 10 ms of ACK jitter delayed both flows."""
    queue = sawtooth(0, 1_100)
    owd = {f"owd_{of}_us": queue for of in ("min", "mean", "max")}
    late = [12_000.0 + 500.0 * (n % 7) for n in range(200)]
    made = of([0.0, *late[1:]], ce_best=marked_above(queue, 900), **owd)
    assert _queue_max_us(made) == max(queue)
    few = made.with_columns(owd_mean_us=pl.when(pl.col("round") > 150).then("owd_mean_us"))
    assert _queue_max_us(few) == max(late)


def _queue_max_us(made: pl.DataFrame) -> float:
    whole = capture(flows=FLOWS, rounds=made, directions=PRAGUE)
    return float(queue_features.features(whole)["queue_max_us"][0])


@pytest.mark.parametrize(
    ("vantage", "kept"), [("server", True), (None, True), ("middle", False), ("client", False)]
)
def test_a_capture_in_front_of_the_bottleneck_shows_no_delay_of_the_path(vantage, kept) -> None:
    """Sender and a tap 0.3 ms behind it made an L4S AQM of CoDel: 0.1 ms between them."""
    flows = frame("flows", source=[0, 1], flow=0, vantage=["client", vantage])
    rounds = frame("rounds", round=[0, 1], owd_mean_us=9.0, marked_owd_min_us=9.0, rtt_min_us=1.0)
    ways = frame("paths", near=0, far=1, forward=True, matched=10)
    back = frame("paths", near=1, far=0, forward=False, matched=10)
    seen = one_way.without_partial_paths(
        capture(flows=flows, rounds=rounds, paths=stack(ways, back))
    )
    assert seen.paths["near"].to_list() == ([0, 1] if kept else [1])
    assert seen.rounds["owd_mean_us"].to_list() == [9.0 if kept else None] * 2
    assert seen.rounds["marked_owd_min_us"].to_list() == [9.0 if kept else None] * 2
    assert seen.rounds["rtt_min_us"].to_list() == [1.0, 1.0]
    assert seen.rounds.columns == rounds.columns
