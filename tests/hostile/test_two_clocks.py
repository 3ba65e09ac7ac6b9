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
BEHIND_MS = (-3_600_000, -1000, -50, -3, -1, 0, 1, 3, 50, 1000, 86_400_000)


def bounds(plan: Plan, path: Path) -> tuple[int, int] | None:
    """Least and most by which the clock of the second interface is behind that of the first."""
    exchanged(plan, path)
    return bounds_of(path, plan.named)


def bounds_of(path: Path, named: str) -> tuple[int, int] | None:
    row = l4strace.open(path).sources.row(0, named=True)
    least, most = row["interfaces_apart_lo_ns"], row["interfaces_apart_hi_ns"]
    if least is None:
        return None
    names = (row["interface_ahead"], row["interface_behind"])
    if names == NAMES[named]:
        return least, most
    assert names == NAMES[named][::-1]
    return -most, -least


def counted(path: Path) -> tuple[int, int]:
    """Packets and retransmissions."""
    totals = l4strace.open(path).directions.select("packets", "retransmits").sum()
    return totals.row(0)


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


@pytest.mark.parametrize("seed", range(24))
def test_any_exchange_by_two_clocks(seed: int, tmp_path: Path):
    """Any queue, loss, ids and feedback: bounds hold, or none are given; counts are exact."""
    chance = Random(f"clocks {seed}")
    plan = replace(
        drawn(chance),
        copies=True,
        named=chance.choice(sorted(NAMES)),
        behind_ns=chance.choice(BEHIND_MS) * MS,
        by_arrival=chance.random() < 0.5,
    )
    truth = exchanged(plan, tmp_path / "run")
    assert counted(tmp_path / "run") == (len(truth.frames) / 2, truth.retransmits), plan
    found = bounds_of(tmp_path / "run", plan.named)
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
def test_copies_count_once_and_delays_are_not_judged(
    behind_ms: int, stamps: bool, by_arrival: bool, tmp_path: Path
):
    """Without timestamps and ids: 808 retransmissions where 4 of 804 were."""
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
    assert counted(tmp_path / "run") == (len(truth.frames) / 2, truth.retransmits)
    found = set(l4strace.open(tmp_path / "run").findings["rule"])
    assert found <= WHAT_IT_IS
    assert found >= {"L4S010", "L4S014"}


@pytest.mark.parametrize("named", NAMES)
def test_a_path_that_moves_to_another_interface_shows_no_copies(named: str, tmp_path: Path):
    """What was in flight on the first is sent anew on the second, with other timestamps."""
    plan = Plan(packets=600, version=6, named=named, lost=frozenset(range(300, 340)))
    plan = replace(plan, moves_ns=plan.rtt_ns + 330 * plan.gap_ns)
    truth = exchanged(plan, tmp_path / "run")
    assert counted(tmp_path / "run") == (len(truth.frames), truth.retransmits)
    assert truth.retransmits > 10
