"""Detector steps from each kind of probe, replayed by the arithmetic of each build."""

import polars as pl
import pytest

from l4strace.prague import replay
from tests.support.frames import frame

STICKY = 17 << 24
RESIDUE = 3_381_267
"""Of a step of the 24-bit build with 20-bit references: -V0_LG modulo 2^23."""


def samples(event: str, score: list[int], **columns: object) -> pl.DataFrame:
    """Samples 1 us apart of a queue of 53 us with a deviation of 43 us."""
    count = len(score)
    plain = {
        "ts_ns": [i * 1000 for i in range(count)],
        "event": event,
        "saw_ce": True,
        "srtt_pace_us": 10_053.9,
        "mdev_pace_us": 43.9,
        "g_srtt_shift": 18,
        "min_rtt_us": 10_000,
        "rest_mdev_us": [741_455 + i for i in range(count)],
        "rest_depth_us": 370_727,
        "classic_ecn_raw": score,
        "alpha_raw": 1 << 24,
    }
    return frame("kernel", **(plain | columns))


def scores(steps: pl.DataFrame) -> list[tuple[int | None, int | None]]:
    return [tuple(row) for row in steps.select("before", "after").iter_rows()]


@pytest.mark.parametrize("event", ["detect", "alpha"])
def test_a_step_goes_from_one_entry_to_the_next(event: str) -> None:
    steps = replay.recorded(samples(event, [1, 2, 3]))
    assert scores(steps) == [(1, 2), (2, 3), (3, None)]
    assert steps.schema == replay.INPUTS


def test_a_later_sample_of_another_probe_ends_the_last_step() -> None:
    score = [1, 2, 9]
    log = samples("detect", score).with_columns(event=pl.Series(["detect", "detect", "ack"]))
    assert scores(replay.recorded(log)) == [(1, 2), (2, 9)]


def test_the_detectors_own_probe_goes_before_that_of_alpha() -> None:
    log = samples("alpha", [1, 2, 3, 4]).with_columns(
        event=pl.Series(["alpha", "detect", "alpha", "detect"])
    )
    assert replay.recorded(log)["ts_ns"].to_list() == [1000, 3000]


def test_microseconds_are_whole_as_in_the_kernel() -> None:
    step = replay.recorded(samples("detect", [0, 0])).row(0, named=True)
    assert (step["srtt_us"], step["mdev_us"]) == (10_053, 43)


def test_the_detector_sleeps_until_the_first_ce() -> None:
    armed = samples("alpha", [0, 0, 0], saw_ce=[False, True, True])
    assert replay.recorded(armed)["ts_ns"].to_list() == [1000, 2000]
    assert replay.recorded(samples("alpha", [0, 0, 0], saw_ce=False)).is_empty()


def test_a_carry_that_never_moves_is_not_believed() -> None:
    steps = replay.recorded(samples("detect", [0, 0, 0], rest_mdev_us=741_455))
    assert steps.select("rest_mdev", "rest_depth").null_count().row(0) == (3, 3)
    moving = replay.recorded(samples("detect", [0, 0, 0]))
    assert moving["rest_mdev"].to_list() == [741_455, 741_456, 741_457]


def test_between_acks_a_step_lies_where_score_or_alpha_change() -> None:
    log = samples("probe", [0, 0, 5, 5], alpha_raw=[8, 8, 8, 7])
    steps = replay.recorded(log)
    assert steps["ts_ns"].to_list() == [2000, 3000]
    assert scores(steps) == [(0, 5), (5, 5)]
    assert steps["rest_mdev"].null_count() == 2


def test_a_log_without_the_filters_has_no_steps() -> None:
    assert replay.recorded(samples("detect", [0, 1], mdev_pace_us=None)).is_empty()


def test_the_buggy_build_climbs_where_the_fixed_one_stays_at_zero() -> None:
    """43 us of deviation are 750 us for references that are 16 times too small."""
    steps = replay.replayed(replay.recorded(samples("detect", [0] * 400)))
    assert steps["buggy"].is_sorted()
    assert steps["buggy"].max() == pytest.approx(17.0)
    assert steps["fixed"].max() == 0.0


def test_each_build_replays_from_the_logged_value() -> None:
    steps = replay.replayed(replay.recorded(samples("detect", [STICKY, STICKY])))
    assert set(replay.BUILDS) <= set(steps.columns)
    row = steps.row(0, named=True)
    assert row["24-bit buggy"] == STICKY
    assert row["24-bit fixed"] < STICKY


@pytest.mark.parametrize(
    ("bits", "residue", "build"),
    [
        (20, 235_539, "20-bit"),
        (24, RESIDUE, "24-bit buggy"),
        (24, 3_768_610, "24-bit fixed"),
        (24, RESIDUE + 1, None),
        (None, RESIDUE, None),
    ],
)
def test_the_residue_of_a_step_names_its_build(
    bits: int | None, residue: int, build: str | None
) -> None:
    """A step modulo 2^(bits-1) is what the build's constants leave of it."""
    half = 17 << ((bits or 24) - 1)
    steps = pl.DataFrame({"before": [half, half, None], "after": [half + residue, None, half]})
    found = replay.identified(steps, bits)
    assert found["build"].to_list() == [build, None, None]
    assert found["residue"].to_list() == [residue if build else None, None, None]
