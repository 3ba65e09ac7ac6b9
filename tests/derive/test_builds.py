"""Which build of Prague each lab run used, named from its log alone."""

from pathlib import Path

import polars as pl
import pytest

from l4strace.derive import builds
from l4strace.ingest.join import attach
from tests.support import frames

NAMED = {
    "a": ("20-bit", 1090),
    "b": ("24-bit buggy", 1068),
    "d": ("20-bit", 925),
    "e": ("20-bit", None),
    "f2": ("20-bit", 1089),
    "h": ("20-bit", None),
    "k": ("20-bit", None),
    "o": ("20-bit", None),
    "q1": ("20-bit", 884),
    "s": ("24-bit without detector", None),
}
"""Run -> build by its manifest, and detector steps that the build must reproduce, all of them."""


@pytest.mark.lab
@pytest.mark.parametrize("run", NAMED)
def test_the_build_of_a_lab_run_is_named(shared_data: Path, run: str) -> None:
    log = str(shared_data / f"lab/{run}/trace.txt.zst")
    table = builds.table(attach.load_logs(frames.capture(), [log]))
    row = table.filter(flow=1).row(0, named=True)
    name, steps = NAMED[run]
    assert row["build"] == name
    if steps is not None:
        assert row["reproduced"] == row["steps"] >= steps


@pytest.mark.lab
def test_a_socket_that_fell_back_to_reno_has_no_build(shared_data: Path) -> None:
    log = str(shared_data / "lab/i/trace.txt.zst")
    assert builds.table(attach.load_logs(frames.capture(), [log])).is_empty()


def steps(score: list[int]) -> pl.DataFrame:
    """Detector samples of a queue of 53 us with a deviation of 43 us, with their carry."""
    count = len(score)
    kernel = frames.frame(
        "kernel",
        ts_ns=[i * 1000 for i in range(count)],
        event="detect",
        saw_ce=True,
        srtt_pace_us=10_053.0,
        mdev_pace_us=43.0,
        g_srtt_shift=18,
        min_rtt_us=10_000,
        rest_mdev_us=[741_455 + i for i in range(count)],
        rest_depth_us=370_727,
        classic_ecn_raw=score,
        alpha_raw=1 << 24,
        alpha=1.0,
        alpha_bits=24,
    )
    return builds.table(frames.capture(kernel=kernel))


def test_a_score_that_stays_at_zero_names_the_fixed_build() -> None:
    row = steps([0] * 5).row(0, named=True)
    assert (row["build"], row["reproduced"]) == ("24-bit fixed", 4)
    assert row["reason"] == "Only it reproduces all 4 steps."
