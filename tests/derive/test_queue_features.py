"""What the features of bottlenecks rest on: which marks are known, and at which delay."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

from l4strace.bottleneck import table as room
from l4strace.derive import phases, queue_features
from l4strace.evidence import Capture
from tests.support.frames import MS, capture, frame, stack
from tests.support.queues import CUBIC, FLOWS, PRAGUE, marked_above, of, sawtooth, verdict

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
    assert row["kind"] == "l4s"


def test_marks_that_only_a_zeroed_counter_reports_are_none() -> None:
    """Lab runs s1001-096 and s1001-128: FIFO and CoDel without ECN, and 2 marks by ACE."""
    lost = [2 if i % 40 == 39 else 0 for i in range(200)]
    first = [2, *[0] * 199]
    made = of(sawtooth(4_000, 20_000), ce_best=first, ce_bytes=0, retransmits=lost)
    assert verdict(directions=ZEROED, rounds=made)["kind"] == "fifo"
    unheard = ZEROED.with_columns(pl.lit(None, pl.UInt64).alias("e1b_bytes"))
    assert verdict(directions=unheard, rounds=made)["kind"] == "unknown"


def test_the_highest_queue_of_a_path_is_also_what_sack_shows() -> None:
    """Lab run s1301-041: PIE let slow start fill the buffer to 155 ms, then dropped at 80 ms."""
    lost = [2 if i % 40 == 39 else 0 for i in range(200)]
    for sacked, kind in ((30_000.0, "fifo"), (60_000.0, "unmarked")):
        shown = [sacked if i == 2 else None for i in range(200)]
        made = of(sawtooth(4_000, 20_000), retransmits=lost, sacked_rtt_max_us=shown)
        assert verdict(directions=PRAGUE, rounds=made)["kind"] == kind


def test_sack_shows_no_queue_longer_than_one_way_delays_do() -> None:
    """Simulated run s38411-021: a FIFO, but "unmarked" at both ends, by jitter of the ACKs."""
    lost = [2 if i % 40 == 39 else 0 for i in range(200)]
    shown = [70_000.0 if i == 2 else None for i in range(200)]
    queue = sawtooth(4_000, 20_000)
    made = of(queue, retransmits=lost, sacked_rtt_max_us=shown)
    owd = {"owd_min_us": 0.0, "owd_mean_us": queue, "owd_max_us": [us + 100.0 for us in queue]}
    both = of(queue, retransmits=lost, sacked_rtt_max_us=shown, **owd)
    kinds = [verdict(directions=PRAGUE, rounds=rounds)["kind"] for rounds in (made, both)]
    assert kinds == ["unmarked", "fifo"]


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
    found = room.bottlenecks(
        capture(flows=FLOWS, directions=directions, rounds=stack(steps, short))
    )
    assert found["flow"].to_list() == [0]


def test_the_border_of_each_phase_is_that_of_its_own_rate() -> None:
    """Lab run s1201-033: RED marks from 25 ms on, two packets of the stretch at 1 Mbit/s."""
    fast, slow = 48, 6
    queue = [20_000.0 + 100.0 * (n % 20) for n in range(900)]
    packets = [fast if not 300 <= n < 600 else slow for n in range(900)]
    made = {
        "acked_bytes": [n * 1_448 for n in packets],
        "acked_packets": packets,
        "ce_best": [int(n % (20 if n // 300 != 1 else 4) == 3) for n in range(900)],
        "train_bps": [n * 1_158_400.0 for n in packets],
    }
    tables = {"directions": PRAGUE, "rounds": of(queue, **made)}
    (row,) = queue_features.features(capture(flows=FLOWS, **tables)).to_dicts()
    assert row["mark_limit_us"] == queue_features.L4S_MARK_US
    assert row["high_acked"] > 600 * fast


def test_a_phase_shows_its_kind_where_the_whole_mixes_two() -> None:
    """Run s8103-047: DualPI2 before a CoDel without a mark; longer queues refuted the step."""
    queue = [*sawtooth(500, 4_000, 600), *sawtooth(40_000, 90_000, 600)]
    packets = [5] * 600 + [2] * 600
    made = {
        "acked_bytes": [n * 1_448 for n in packets],
        "acked_packets": packets,
        "ce_best": [2 if n < 600 and wait > 2_000 else 0 for n, wait in enumerate(queue)],
        "train_bps": [n * 1_158_400.0 for n in packets],
    }
    row = verdict(directions=PRAGUE, rounds=of(queue, **made))
    assert (row["kind"], row["confidence"]) == ("l4s", 0.6)
    assert "in one phase" in str(row["reason"])


def test_a_path_that_changes_all_day_is_asked_in_few_of_its_phases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = capture(flows=FLOWS, directions=PRAGUE, rounds=of(sawtooth(200, 1100, 2_000)))
    asked: list[int] = []
    features = queue_features.features

    def noted(run: Capture, part: pl.DataFrame) -> pl.DataFrame:
        asked.extend(part["phase"].unique())
        return features(run, part)

    monkeypatch.setattr(queue_features, "features", noted)
    path = phases.table(made).row(0, named=True)
    parts = [path | {"phase": n, "marks": n % 17} for n in range(40)]
    room._by_phase(made, parts, room.Paths(Counter(), frozenset()))
    assert asked == [16, 33, 15, 32, 14, 31, 13, 30]


def test_counts_the_marks_that_only_another_capture_of_the_flow_shows() -> None:
    """Simulated run s9401-064: the capture at the sender began 2.3 s late, after the marks."""
    flat = of([200.0] * 200)
    late = PRAGUE.with_columns(data_ce=pl.lit(0, pl.UInt64), retransmits=pl.lit(0, pl.UInt64))
    other = late.with_columns(source=pl.lit(1, pl.UInt16))
    flows = stack(FLOWS, FLOWS.with_columns(source=pl.lit(1, pl.UInt16)))
    for marks, kind in ((0, "none"), (54, "unknown")):
        seen = stack(late, other.with_columns(data_ce=pl.lit(marks, pl.UInt64)))
        both = capture(flows=flows, directions=seen, rounds=flat)
        assert room.bottlenecks(both)["kind"][0] == kind


@pytest.mark.parametrize(("first", "unmarked"), [(20_000.0, 0), (0.0, 39)])
def test_what_a_flow_always_waits_may_be_its_longer_path(first: float, unmarked: int) -> None:
    """Lab run s1701-154: 19 ms more of path are no queue that DualPI2 left without a mark."""
    near = sawtooth(200, 1_100)
    far = [29_000.0 + wait for wait in near[:40]]
    least = [10_000.0 + first, *(10_000.0 + wait for wait in far[1:])]
    made = (
        of(near, ce_best=marked_above(near, 900)),
        of(far, flow=1, ce_best=0, rtt_min_us=least),
    )
    directions = stack(PRAGUE, PRAGUE.with_columns(flow=pl.lit(1, pl.UInt32)))
    found = queue_features.features(
        capture(flows=FLOWS, directions=directions, rounds=stack(*made))
    )
    assert found["far_unmarked"].to_list() == [unmarked, unmarked]


def test_a_queue_stands_in_most_of_the_time_not_in_most_rounds() -> None:
    """Of 200 rounds 120 take 10 ms without a queue, and 80 take 60 ms behind one."""
    ends = [10 * (n + 1) for n in range(120)] + [1_200 + 60 * (n + 1) for n in range(80)]
    times = {
        "start_ns": [0, *(MS * end for end in ends[:-1])],
        "end_ns": [MS * end for end in ends],
    }
    row = verdict(directions=PRAGUE, rounds=of([200.0] * 120 + [50_000.0] * 80, **times))
    assert row["queue_delay_us"] == 50_000.0


def test_an_ack_that_may_be_held_back_shows_no_longer_queue_than_those_beside_it() -> None:
    """Simulated run s7403-002: delayed ACKs, 40 ms, were a queue of Prague's own."""
    held = [n % 4 == 1 for n in range(200)]
    lone = {
        "rtt_samples": [1 if one else 9 for one in held],
        "acked_packets": [1 if one else 18 for one in held],
    }
    waited = [40_000.0 if one else 400.0 for one in held]
    other = of([18_000.0] * 200, flow=1)

    def own_queue_us(**columns: object) -> float:
        made = stack(of(waited, **lone | columns), other)
        found = queue_features.features(
            capture(flows=FLOWS, directions=stack(PRAGUE, CUBIC), rounds=made)
        )
        return float(found.filter(pl.col("flow") == 0)["classic_own_queue_us"].item())

    prompt = [10_000.0 + us for us in waited]
    assert own_queue_us(rtt_prompt_max_us=prompt) == pytest.approx(10_300)
    answered = [None if one else us for one, us in zip(held, prompt, strict=True)]
    assert own_queue_us(rtt_prompt_max_us=answered) == pytest.approx(400)
    # Where the receiver answers each packet so, nothing else is known.
    every = {"rtt_samples": 1, "acked_packets": 1}
    assert own_queue_us(**every) == pytest.approx(10_300)
