"""Two honest hosts are accused of nothing, however the capture and the offloads bend what they did.

L4STRACE_HONEST_CASES=500 draws as many exchanges; `make test` draws a few.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random

import polars as pl
import pytest

import l4strace
from tests.support.exchange import IDS, MS, MSS, Plan, Truth, drawn, exchanged, queue

CASES = int(os.environ.get("L4STRACE_HONEST_CASES", "24"))
ONCE_WRONG = (54, 69, 70, 80, 98, 106, 123, 140, 148, 168, 214, 223, 281, 308, 396, 408, 452, 482)
"""A queue longer than half the RTT that comes at once, and packets behind a hole without SACK."""
NEW = range(900, 1000)
"""Drawn after the last fault was mended."""


def judged(plan: Plan, folder: Path) -> tuple[l4strace.Run, Truth, dict]:
    """The run, what is true of it, and the direction of the data."""
    truth = exchanged(plan, folder / "run.pcap")
    run = l4strace.open(folder / "run.pcap")
    return run, truth, run.directions.filter(pl.col("data_packets") > 0).row(0, named=True)


def accusations(run: l4strace.Run) -> list[str]:
    """What is said of the path's or the receiver's feedback."""
    return [
        f"{finding['rule']}: {finding['message']}"
        for finding in run.findings.iter_rows(named=True)
        if finding["rule"].startswith("L4S1") and finding["severity"] in ("warning", "error")
    ]


def fits(plan: Plan, folder: Path) -> None:
    run, truth, data = judged(plan, folder)
    assert accusations(run) == [], plan
    assert data["retransmits"] == truth.retransmits, plan
    assert data["data_packets"] == truth.sent, plan
    assert data["payload_bytes"] == truth.sent * MSS, plan
    assert data["ce_fed_back_lo"] <= truth.marks <= data["ce_fed_back_hi"], plan


@pytest.mark.parametrize("seed", sorted({*range(CASES), *ONCE_WRONG}))
def test_any_exchange(seed: int, tmp_path: Path):
    fits(drawn(Random(seed)), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", NEW)
def test_any_new_exchange(seed: int, tmp_path: Path):
    fits(drawn(Random(seed)), tmp_path)


@pytest.mark.parametrize("shape", ["fixed", "ramp", "saw"])
@pytest.mark.parametrize("stamps", [True, False])
@pytest.mark.parametrize("ids", IDS)
def test_copies_behind_any_queue_count_once(ids: str, stamps: bool, shape: str, tmp_path: Path):
    """Once 1,872 retransmissions where there were none: the queue was longer than half the RTT."""
    fits(
        Plan(packets=600, queue_ns=queue(shape, 20 * MS, 600), copies=True, ids=ids, stamps=stamps),
        tmp_path,
    )


@pytest.mark.parametrize("option", [0, 174])
@pytest.mark.parametrize("ratio", [1, 7, 8, 16, 32, 64])
def test_thinned_acks_of_marked_packets(ratio: int, option: int, tmp_path: Path):
    """ACKs of sixteen marked packets leave ACE at 101: the receiver freezes nothing."""
    plan = Plan(packets=1600, ratio=ratio, option=option, marked=lambda _: True)
    fits(plan, tmp_path)
    run = l4strace.open(tmp_path / "run.pcap")
    assert not run.bottlenecks["kind"].is_in(["none", "fifo", "unmarked", "dropping"]).any()


@pytest.mark.parametrize("option", [0, 172, 174])
def test_losses_without_sack(option: int, tmp_path: Path):
    draws = Random(7)
    fits(
        Plan(
            packets=1500,
            ratio=1,
            sack=False,
            option=option,
            lost=frozenset(range(50, 1400, 90)),
            marked=lambda _: draws.random() < 0.1,
        ),
        tmp_path,
    )
