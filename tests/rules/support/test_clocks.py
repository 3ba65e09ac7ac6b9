"""Captures whose clock was set, or that have two."""

import polars as pl
import pytest

from l4strace.model import Skipped
from l4strace.rules import l4s404_queue_over_target, l4s503_latency_spike
from l4strace.rules.support import clocks
from tests.support.frames import MS, evidence, frame
from tests.support.scenes import DIRECTIONS, FLOWS, bottleneck


def test_one_step_forward_spoils_a_run_and_two_back_do_not():
    directions = frame(
        "directions",
        source=[0, 1, 2, 3],
        clock_steps=[1, 2, 3, None],
        clock_ahead_ns=[3_600_000_000_000, None, None, None],
    )
    assert clocks.spoiled(evidence(directions=directions)) == [0, 2]


def test_without_steps_nothing_is_spoiled():
    assert clocks.spoiled(evidence()) == []


@pytest.mark.parametrize("apart_us", [None, 100, 15_000])
def test_delays_by_two_clocks_are_not_judged(apart_us: int | None):
    """A hundredth of the delays of a queue changes nothing."""
    apart = None if apart_us is None else 1000 * apart_us
    spike = frame("spikes", start_ns=0, end_ns=900 * MS, height_us=90e3, usual_us=400.0, path="a>b")
    spike = spike.with_columns(cause=pl.lit("unknown"), hit=pl.lit("0"), rounds=9)
    seen = evidence(
        sources=frame("sources", interfaces_apart_lo_ns=apart, interfaces_apart_hi_ns=apart),
        flows=FLOWS,
        directions=DIRECTIONS,
        spikes=spike,
        bottlenecks=bottleneck("classic", queue_delay_us=90e3),
    )
    for rule in (l4s503_latency_spike, l4s404_queue_over_target):
        (found,) = rule.check(seen)
        assert isinstance(found, Skipped) is (apart_us == 15_000)
