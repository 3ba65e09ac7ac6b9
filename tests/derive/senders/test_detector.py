"""The detector's steps from tcp_probe and from packets alone."""

from __future__ import annotations

import polars as pl
import pytest

from l4strace.derive.senders import detector
from tests.support import frames


def probe(count: int, score: list[int], alpha: list[int]) -> pl.DataFrame:
    """Samples as L4STeam's tcp_probe gives them: 43 us of deviation, 53 us of depth."""
    kernel = frames.frame(
        "kernel",
        ts_ns=[i * 1000 for i in range(count)],
        event="probe",
        srtt_pace_us=10_053.0,
        mdev_pace_us=43.0,
        min_rtt_us=10_000,
        classic_ecn_raw=score,
        classic_ecn=[s / (1 << 24) for s in score],
        alpha_raw=alpha,
        alpha=[a / (1 << 24) for a in alpha],
        alpha_bits=24,
    )
    return detector.table(frames.capture(kernel=kernel))


def test_extended_tcp_probe_gives_steps_without_carry() -> None:
    buggy = (9 << 23) - 5007341 - 5749229 + (2 << 23)
    table = probe(4, [0, 0, buggy, buggy], [1 << 24, 1 << 24, 9 << 20, 9 << 20])
    assert table.height == 1
    row = table.row(0, named=True)
    assert (row["score"], row["build"], row["exact"]) == (0.0, "24-bit buggy", False)
    assert row["score_after"] == pytest.approx(4.86, abs=0.01)


def test_packets_alone_fill_the_table() -> None:
    rounds = frames.rounds(
        3,
        ce_best=[0, 1, 0],
        mdev_pace_us=100.0,
        srtt_pace_us=10_400.0,
        classic_ecn=[0.0, 0.0, 0.0],
        classic_ecn_buggy=[0.0, 5.0, 10.0],
    )
    directions = frames.frame("directions", data_ect1=10, data_ce=0)
    table = detector.table(frames.capture(rounds=rounds, directions=directions))
    assert table["origin"].to_list() == ["packets"] * 2
    assert table["score_buggy"].to_list() == [0.0, 5.0]
    assert table["depth_us"].to_list() == [400.0, 400.0]
    assert table["score"].null_count() == 2


def test_a_packet_that_overtook_others_lowers_the_smallest_rtt() -> None:
    """The kernel takes its RTT for the base from then on: all above it is depth."""
    rounds = frames.rounds(
        3,
        ce_best=1,
        rtt_min_us=10_000.0,
        sacked_rtt_min_us=[None, 4_000.0, None],
        mdev_pace_us=100.0,
        srtt_pace_us=10_400.0,
        classic_ecn=0.0,
        classic_ecn_buggy=0.0,
    )
    directions = frames.frame("directions", data_ect1=10, data_ce=0)
    table = detector.table(frames.capture(rounds=rounds, directions=directions))
    assert table["depth_us"].to_list() == [400.0, 6400.0, 6400.0]


def test_each_step_of_two_captures_stands_once_in_the_order_of_time() -> None:
    marked = {"ce_best": 1, "mdev_pace_us": 100.0, "srtt_pace_us": 10_400.0, "classic_ecn": 0.0}
    rounds = frames.stack(
        frames.rounds(150, **marked),
        frames.rounds(3, flow=1, **marked),
        frames.rounds(150, source=1, begin_ns=5_000_000, **marked),
    )
    ways = {"source": [0, 0, 1], "flow": [0, 1, 0]}
    directions = frames.frame("directions", data_ect1=10, data_ce=0, **ways)
    table = detector.table(frames.capture(rounds=rounds, directions=directions))
    steps = [table.filter(flow=flow)["ts_ns"].to_list() for flow in (0, 1)]
    assert steps[0] == sorted(set(steps[0]))
    assert [len(one) for one in steps] == [300, 3]
