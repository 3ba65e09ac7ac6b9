"""Unequal shares."""

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.rules.l4s502_unfairness import check
from tests.support.datagrams import COUNT, LINK, over_udp, rest, run
from tests.support.scenes import starving, two_flows


def scene(pairs: pl.DataFrame):
    return two_flows(coexistence=pairs)


def fed(share: float, jain: float) -> pl.DataFrame:
    pairs = starving(1, 0, share)
    return pairs.with_columns(starved_since_ns=None, jain=pl.lit(jain))


def test_fires_once_for_the_smaller_share() -> None:
    (found,) = check(scene(fed(0.25, 0.8)))
    assert found.flow == 1
    assert [m.value for m in found.measures] == [0.25, 0.8]


def test_silent_on_fair_shares_and_on_starvation() -> None:
    assert check(scene(fed(0.4, 0.96))) == []
    assert check(scene(starving(1, 0))) == []


def test_silent_for_a_flow_that_has_what_it_asks_for() -> None:
    paced = starving(1, 0, 0.2).with_columns(starved_since_ns=None, jain=0.7, held_back=pl.lit(0.9))
    assert check(two_flows(coexistence=paced)) == []


@pytest.mark.parametrize(("transport", "count"), [("udp-prague", 1), ("quic", 0), ("rtp", 0)])
@pytest.mark.parametrize("mbit", [5.0, 15.0])
def test_silent_beside_a_flow_over_udp_that_may_have_what_it_needs(
    transport: str, count: int, mbit: float
) -> None:
    # A rate that never moves is set by the sender.
    swing = [mbit * part for part in ([0.9] * 20 + [1.1] * 20) * 7]
    made = run(rest(swing), over_udp(swing, transport))
    assert len(check(pipeline.derive(made, strict=True))) == count
    steady = run([LINK - mbit] * COUNT, over_udp([mbit] * 300, transport))
    assert check(pipeline.derive(steady, strict=True)) == []
