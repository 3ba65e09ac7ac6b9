"""Captures whose clock was set, or that have two, or copies that look like retransmissions."""

import polars as pl
import pytest

from l4strace.model import Skipped
from l4strace.rules import (
    l4s401_bottleneck,
    l4s402_no_ce,
    l4s404_queue_over_target,
    l4s502_unfairness,
    l4s503_latency_spike,
    l4s504_under_utilisation,
    l4s505_slow_ramp,
)
from l4strace.rules.support import clocks
from tests.support.frames import MS, evidence, frame, rounds
from tests.support.phases import phases
from tests.support.scenes import DIRECTIONS, FLOWS, bottleneck, starving, two_flows


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
    seen = two_flows(
        sources=frame("sources", interfaces_apart_lo_ns=apart, interfaces_apart_hi_ns=apart),
        spikes=spike,
        bottlenecks=bottleneck("classic", queue_delay_us=90e3),
    )
    for rule in (l4s503_latency_spike, l4s404_queue_over_target, l4s401_bottleneck):
        (found,) = rule.check(seen)
        assert isinstance(found, Skipped) is (apart_us == 15_000)


UNFAIR = starving(1, 0, 0.25).with_columns(starved_since_ns=None, jain=pl.lit(0.8))
SLOW = phases(50.0, ramp_ns=26_000 * MS)
IDLE = phases(50.0, rate_bps=10e6, low_ns=9_000 * MS, low_share=0.9)


@pytest.mark.parametrize(
    ("rule", "tables"),
    [
        (l4s402_no_ce, {"bottlenecks": bottleneck("fifo", losses=40, loss_delay_us=9e4)}),
        (l4s502_unfairness, {"coexistence": UNFAIR}),
        (l4s504_under_utilisation, {"phases": IDLE, "bottlenecks": bottleneck("fifo")}),
        (l4s505_slow_ramp, {"phases": SLOW, "rounds": rounds(100)}),
    ],
)
@pytest.mark.parametrize("fault", ["", "clocks", "copies"])
def test_rates_and_losses_of_two_clocks_or_of_copies_are_not_judged(
    rule, tables: dict[str, pl.DataFrame], fault: str
):
    apart = 500 * MS if fault == "clocks" else None
    again = 800 if fault == "copies" else 8
    made = evidence(
        sources=frame("sources", interfaces_apart_lo_ns=apart, interfaces_apart_hi_ns=apart),
        flows=FLOWS,
        directions=DIRECTIONS.with_columns(
            retransmits=pl.lit(again, pl.UInt64), packets=pl.lit(1600, pl.UInt64)
        ),
        **tables,
    )
    (found,) = rule.check(made)
    assert isinstance(found, Skipped) is bool(fault)
    if fault:
        assert found.reason == {"clocks": clocks.MIXED, "copies": clocks.TWICE}[fault]
