"""Two interfaces of one capture, each with its clock: the difference is bounded or not said."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

import l4strace
from tests.support.exchange import MS, Plan, drawn, exchanged, queue

NAMES = {
    "pcapng": ("interface 0", "interface 1"),
    "any": ("interface index 2", "interface index 3"),
}


def bounds(plan: Plan, path: Path) -> tuple[int, int] | None:
    """Least and most by which the clock of the second interface is behind that of the first."""
    exchanged(plan, path)
    row = l4strace.open(path).sources.row(0, named=True)
    least, most = row["interfaces_apart_lo_ns"], row["interfaces_apart_hi_ns"]
    if least is None:
        return None
    names = (row["interface_ahead"], row["interface_behind"])
    if names == NAMES[plan.named]:
        return least, most
    assert names == NAMES[plan.named][::-1]
    return -most, -least


def said(path: Path) -> list[str]:
    found = l4strace.open(path).findings
    return found.filter(found["rule"] == "L4S014")["message"].to_list()


@pytest.mark.parametrize("by_arrival", [False, True])
@pytest.mark.parametrize("named", NAMES)
@pytest.mark.parametrize("behind_ms", [-3_600_000, -2, 2, 12, 86_400_000])
def test_clocks_apart_are_bounded_from_both_sides(
    behind_ms: int, named: str, by_arrival: bool, tmp_path: Path
):
    """The least queue is 40 us one way and 30 us the other: nothing else widens the bounds."""
    plan = Plan(
        copies=True,
        behind_ns=behind_ms * MS,
        named=named,
        by_arrival=by_arrival,
        version=6,
        queue_ns=queue("ramp", 20 * MS, 400),
    )
    found = bounds(plan, tmp_path / "run")
    assert found is not None
    least, most = found
    assert least <= behind_ms * MS <= most
    assert most - least <= 100_000
    assert len(said(tmp_path / "run")) == 1


@pytest.mark.parametrize("named", ["", *NAMES])
@pytest.mark.parametrize("shape", ["empty", "fixed", "ramp", "saw", "step"])
def test_one_clock_is_one_clock_behind_any_queue(shape: str, named: str, tmp_path: Path):
    plan = Plan(copies=True, named=named, queue_ns=queue(shape, 20 * MS, 400))
    assert bounds(plan, tmp_path / "run") is None
    assert said(tmp_path / "run") == []


@pytest.mark.parametrize("ppm", [-200, 200])
def test_clocks_that_drift_are_bounded_all_the_same(ppm: int, tmp_path: Path):
    plan = Plan(packets=4000, gap_ns=500_000, copies=True, behind_ns=50 * MS, named="pcapng")
    plan = replace(plan, drift_ppm=ppm)
    found = bounds(plan, tmp_path / "run")
    assert found is not None
    ends = sorted((plan.behind_ns, plan.behind(4000 * plan.gap_ns)))
    assert found[0] <= ends[0] + 100_000
    assert found[1] >= ends[1] - 100_000
    assert found[1] - found[0] <= ends[1] - ends[0] + 200_000


@pytest.mark.parametrize("seed", range(12))
def test_any_exchange_by_two_clocks(seed: int, tmp_path: Path):
    """Any queue, loss, id policy and feedback: bounds hold, or none are given."""
    chance = Random(f"clocks {seed}")
    plan = replace(
        drawn(chance),
        copies=True,
        named=chance.choice(sorted(NAMES)),
        behind_ns=chance.choice((-1000, -50, -3, -1, 0, 1, 3, 50, 1000)) * MS,
        by_arrival=chance.random() < 0.5,
    )
    found = bounds(plan, tmp_path / "run")
    if found is not None:
        assert found[0] <= plan.behind_ns <= found[1], plan
    # By more than any packet waits, and both ways show packets that are told apart.
    if abs(plan.behind_ns) >= 50 * MS and plan.stamps and plan.ratio <= 3:
        assert found is not None, plan


WHAT_IT_IS = {"L4S006", "L4S007", "L4S010", "L4S014"}
"""Rules on the capture, not on hosts and path."""


@pytest.mark.parametrize("by_arrival", [False, True])
@pytest.mark.parametrize("stamps", [False, True])
@pytest.mark.parametrize("behind_ms", [-15, 15, 500])
def test_nothing_is_judged_of_copies_that_look_like_retransmissions(
    behind_ms: int, stamps: bool, by_arrival: bool, tmp_path: Path
):
    """Without timestamps and ids no copy is known: 808 retransmissions where 4 of 804 were."""
    plan = Plan(
        packets=800,
        copies=True,
        version=6,
        named="pcapng",
        stamps=stamps,
        behind_ns=behind_ms * MS,
        by_arrival=by_arrival,
        queue_ns=queue("fixed", 8 * MS, 800),
        lost=frozenset(range(100, 700, 60)),
    )
    truth = exchanged(plan, tmp_path / "run")
    run = l4strace.open(tmp_path / "run")
    found = set(run.findings["rule"])
    assert found <= WHAT_IT_IS
    assert found >= {"L4S010", "L4S014"}
    counted = run.directions["retransmits"].max()
    if stamps:
        assert truth.retransmits <= counted <= truth.retransmits + 2
