"""Recorded detector steps against their replay, over the lab runs."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import polars as pl
import pytest

from l4strace.core import _native
from l4strace.derive.senders import detector
from l4strace.ingest.join import attach
from l4strace.prague import replay, scale
from tests.support import frames

RUNS = ["a", "b", "d", "e", "f2", "h", "i", "k", "o", "q1", "s"]

BUILD = {"a": "20-bit", "b": "24-bit buggy", "d": "20-bit", "f2": "20-bit", "q1": "20-bit"}
"""Runs whose detector ran, and the build that recorded them (manifest.json)."""


@lru_cache(maxsize=len(RUNS))
def kernel_of(shared_data: Path, run: str) -> pl.DataFrame:
    log = str(shared_data / f"lab/{run}/trace.txt.zst")
    return attach.load_logs(frames.capture(), [log]).kernel


def sorted_steps(kernel: pl.DataFrame) -> list[pl.DataFrame]:
    by = kernel.filter(pl.col("event") == "detect").partition_by("flow", maintain_order=True)
    return [replay.replayed(replay.recorded(part)) for part in by if part.height > 1]


@pytest.mark.parametrize(("run", "build"), BUILD.items())
def test_every_recorded_step_is_replayed_to_the_bit(
    shared_data: Path, run: str, build: str
) -> None:
    parts = sorted_steps(kernel_of(shared_data, run))
    assert parts
    for part in parts:
        assert part["exact"].all()
        told = part.drop_nulls("after")
        assert told.filter(pl.col(build) != pl.col("after")).is_empty()


@pytest.mark.parametrize("run", RUNS)
def test_every_alpha_update_is_replayed_to_the_bit(shared_data: Path, run: str) -> None:
    kernel = kernel_of(shared_data, run)
    bits = scale.alpha_bits(kernel)
    seen = scale.updates(kernel)
    if run == "i":
        assert seen.is_empty()
        assert bits is None
        return
    assert bits == (24 if run in ("b", "s") else 20)
    columns = (seen[name].to_list() for name in ("upscaled_alpha", "delivered_now", "ce_now"))
    replayed = pl.Series(_native.prague_alpha(bits, *columns), dtype=pl.UInt64)
    armed = seen.with_columns(replayed=replayed).filter("saw_ce")
    asleep = seen.filter(~pl.col("saw_ce"))
    assert armed["replayed"].to_list() == armed["upscaled_after"].to_list()
    assert asleep["upscaled_alpha"].to_list() == asleep["upscaled_after"].to_list()


def test_the_misfire_is_named_by_its_residues(shared_data: Path) -> None:
    kernel = kernel_of(shared_data, "b")
    table = detector.table(frames.capture(kernel=kernel))
    assert table["build"].drop_nulls().unique().to_list() == ["24-bit buggy"]
    assert set(table["residue"].drop_nulls()) <= {3381267, 6020646}
    assert table["score"].max() == table["score_buggy"].max() == 17.0
    assert table["score_fixed"].max() == 0.0
    assert (table["score"] - table["score_buggy"]).abs().max() == pytest.approx(0, abs=1e-9)


def test_a_fallback_that_is_off_shows_what_it_misses(shared_data: Path) -> None:
    table = detector.table(frames.capture(kernel=kernel_of(shared_data, "e")))
    assert table["score"].max() == 0.0
    assert table["score_fixed"].max() == 17.0
    assert not table["exact"].any()


@pytest.mark.parametrize("run", ["h", "i", "k", "s"])
def test_a_detector_that_never_ran_has_no_steps(shared_data: Path, run: str) -> None:
    assert detector.table(frames.capture(kernel=kernel_of(shared_data, run))).is_empty()
