"""The build of Prague, named from the steps of its detector."""

import polars as pl

from l4strace.derive.senders import builds
from tests.support import frames


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


def test_residues_without_reproduction_name_no_build() -> None:
    """A handful of residues of the buggy build among steps that it does not reproduce."""
    residue = 6_020_646
    table = steps([0, residue, 0, residue, 0, 5, 17, 3, 9, 1])
    row = table.row(0, named=True)
    assert row["build"] == "24-bit"
    assert row["reason"].endswith("no step identifies the references.")
