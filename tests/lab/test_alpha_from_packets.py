"""Alpha replayed from the sender's packets against the kernel's own, over the lab runs."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from l4strace.ingest import load

MEDIAN_ERROR = 0.01
RUNS = ["a", "b", "d", "e", "f2", "h", "k", "o", "q1", "s"]


@pytest.mark.parametrize("run", RUNS)
def test_alpha_from_packets_is_the_kernels(shared_data: Path, run: str) -> None:
    folder = shared_data / "lab" / run
    capture = load.load([str(folder / "sender.pcap.xz"), str(folder / "trace.txt.zst")])
    # Samples show alpha before the update: the next one has what this round made of it.
    begun = pl.col("ts_ns") > pl.col("ts_ns").filter(pl.col("event") == "init").max().over("flow")
    logged = (
        capture.kernel.filter(begun & (pl.col("event") == "alpha"))
        .sort("ts_ns")
        .select("flow", "ts_ns", logged=pl.col("alpha").shift(-1).over("flow"))
        .drop_nulls()
    )
    replayed = (
        capture.rounds.filter(pl.col("forward"))
        .sort("end_ns")
        .select("flow", ts_ns="end_ns", replayed="alpha")
        .drop_nulls()
    )
    both = logged.join_asof(
        replayed, on="ts_ns", by="flow", strategy="nearest", check_sortedness=False
    ).drop_nulls()
    long = both.filter(pl.len().over("flow") > 100)
    assert long["flow"].n_unique() == 1
    assert (long["logged"] - long["replayed"]).abs().median() <= MEDIAN_ERROR
