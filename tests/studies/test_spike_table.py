"""The table of latency spikes, from captures: by RTT and CE threshold, with and without a bug."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from l4strace.comparison import comparison, sides
from l4strace.studies import cells, pool, study
from l4strace.studies.sources import discover
from tests.support.exchange import MS, Plan, exchanged

pytestmark = pytest.mark.slow

PACKETS, GAP_NS = 4000, 500_000
USUAL_NS = 400_000
SPIKE = range(1600, 2000)
"""Packets that meet the spike: those of 200 ms."""
HEIGHT_NS = {1: 60 * MS, 4: 90 * MS}
"""By CE threshold in ms."""


def spike(height_ns: int) -> Callable[[int], int]:
    """Wait of the n-th packet: it climbs and falls as a queue does, and keeps the order."""
    half = len(SPIKE) // 2

    def waits(number: int) -> int:
        depth = half - abs(number - SPIKE.start - half) if number in SPIKE else 0
        return USUAL_NS + height_ns * depth // half

    return waits


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("spikes")
    for build, has_spikes in (("bug", True), ("fixed", False)):
        for rtt in (10, 20):
            for threshold, height in HEIGHT_NS.items():
                for rep in range(3):
                    plan = Plan(
                        packets=PACKETS, gap_ns=GAP_NS, rtt_ns=rtt * MS,
                        queue_ns=spike(height + rep * MS if has_spikes else 0), seed=rep,
                    )  # fmt: skip
                    exchanged(plan, folder / f"{build}-rtt{rtt}ms-ce{threshold}ms-{rep}.pcap")
    return folder


def test_the_spike_table_from_captures_with_and_without_a_bug(runs: Path, tmp_path: Path):
    how = discover.How("{build}-rtt{rtt:ms}-ce{ce_threshold:ms}-{rep:}")
    order = study.Order((str(runs),), str(tmp_path / "out"), how, page=False)
    tables = study.sweep(order, pool.on_cores(2)).tables
    found = cells.cells(tables, "spike_height", ["build", "rtt", "ce_threshold"])
    assert found.height == 8
    for build, rtt, threshold, median in found.select(
        "p_build", "p_rtt", "p_ce_threshold", "median"
    ).rows():
        height_us = (HEIGHT_NS[threshold] + MS) / 1000 if build == "bug" else 0.0
        assert median == pytest.approx(height_us, rel=0.05), (build, rtt, threshold)
    (compared,) = comparison.compare(
        sides.of_parameter(tables, "build", ["bug", "fixed"]), ["spike_height"]
    ).measures
    assert compared.cells["differs"].all()
