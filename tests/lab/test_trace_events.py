"""The kernel logs of the lab runs, scaled and read as the runs were made."""

from pathlib import Path

import polars as pl
import pytest

from l4strace.ingest.join import attach
from tests.support import frames


def test_lab_run_b_shows_the_misfire(shared_data: Path) -> None:
    capture = attach.load_logs(frames.capture(), [str(shared_data / "lab/b/trace.txt.zst")])
    prague = capture.kernel.filter(pl.col("flow") == 1)
    assert prague.filter(pl.col("event") == "alpha").height == 1070
    assert prague["classic_ecn"].max() == 17.0
    assert prague["alpha"].max() == 1.0
    used = prague.filter(pl.col("event") == "fallback")["alpha_used_raw"]
    assert used.len() == 220
    assert used.mode().to_list() == [10485760]
    assert capture.sources["clock_offset_ns"].is_not_null().all()
    assert capture.kernel["flow"].null_count() == 0


@pytest.mark.parametrize(("run", "bits"), [("a", 20), ("b", 24), ("o", 20), ("s", 24), ("h", 20)])
def test_scale_is_told_from_the_values(shared_data: Path, run: str, bits: int) -> None:
    kernel = attach.load_logs(
        frames.capture(), [str(shared_data / f"lab/{run}/trace.txt.zst")]
    ).kernel
    scale = (kernel["alpha_raw"] / kernel["alpha"]).drop_nans().drop_nulls()
    assert scale.unique().to_list() == [1 << bits]
