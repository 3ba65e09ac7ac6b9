"""Bursts of ECT(1) senders."""

from dataclasses import replace

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Skipped
from l4strace.rules.l4s206_burst_too_long import MIN_ROUNDS, RULE, check
from tests.support.ends import findings
from tests.support.frames import evidence, rounds
from tests.support.scenes import DIRECTIONS, bottleneck, two_flows


def scene(burst: int, count: int = 100):
    return two_flows(
        bottlenecks=bottleneck("l4s"), rounds=rounds(count, burst_bytes=burst, burst_frame=7)
    )


def test_fires_on_bursts_of_a_millisecond() -> None:
    (found,) = check(scene(8 * 1448))
    assert [round(m.value) for m in found.measures] == [8 * 1448, 1853, 8 * 1448]
    assert found.frames == (7,)


def nqb(burst: int, dscp: int) -> Evidence:
    """A sender without ECT."""
    rows = DIRECTIONS.with_columns(data_ect1=pl.lit(0, pl.UInt64), dscp=pl.lit(dscp, pl.UInt8))
    return replace(scene(burst), directions=rows)


def test_fires_on_bursts_under_dscp_45() -> None:
    (found,) = findings(RULE, nqb(8 * 1448, 45))
    assert "this NQB sender" in found.message
    assert found.headline == "An NQB sender sends long bursts"
    assert findings(RULE, nqb(4 * 1448, 45)) == []
    assert findings(RULE, nqb(8 * 1448, 46)) == []


def test_silent_for_four_packets_and_for_few_round_trips() -> None:
    assert check(scene(4 * 1448)) == []
    assert check(scene(8 * 1448, MIN_ROUNDS))
    assert check(scene(8 * 1448, MIN_ROUNDS - 1)) == []


def test_not_judged_where_time_ran_back() -> None:
    whole = scene(8 * 1448)
    stepped = whole.directions.with_columns(clock_steps=pl.lit(3, pl.UInt32()))
    (skipped,) = check(replace(whole, directions=stepped))
    assert isinstance(skipped, Skipped)
    assert "the clock" in skipped.reason


def test_skips_without_an_ect1_sender() -> None:
    assert isinstance(check(evidence())[0], Skipped)
