"""Detector steps in a kernel log, from the best probe that it has.

1. `detect`: entry of prague_classic_ecn_detection, the step's own inputs.
2. `alpha`: entry of prague_update_alpha, which calls it (it is inlined in most builds); only once
   a CE was seen, as the kernel does.
3. any sample with both pace filters and the score, such as L4STeam's tcp_probe: a step lies where
   score or alpha changed since the sample before, and the filters are those that it used.
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.prague.constants import BUILDS as BUILDS

INPUTS = pl.Schema(
    {
        "source": pl.UInt16(),
        "ts_ns": pl.Int64(),
        "before": pl.Int64(),
        "after": pl.Int64(),
        "srtt_us": pl.Int64(),
        "mdev_us": pl.Int64(),
        "shift": pl.UInt8(),
        "min_rtt_us": pl.UInt32(),
        "rest_mdev": pl.UInt32(),
        "rest_depth": pl.UInt32(),
    }
)
STEP_COLUMNS = (
    *("source", "ts_ns", "event", "saw_ce", "classic_ecn_raw", "alpha_raw"),
    *("srtt_pace_us", "mdev_pace_us", "g_srtt_shift", "min_rtt_us", "rest_mdev_us"),
    "rest_depth_us",
)
"""Columns of `kernel` that steps follow from: the others need not be copied."""
PER_ACK = ["probe", "ack", "poll"]


def usable() -> pl.Expr:
    """Samples of a detector: they have its score and what the score follows from."""
    return pl.col("classic_ecn_raw").is_not_null() & pl.col("mdev_pace_us").is_not_null()


def recorded(kernel: pl.DataFrame) -> pl.DataFrame:
    """Steps of one flow direction's samples, in order, with the columns of INPUTS.

    `before` and `after` are classic_ecn in the kernel's scale around the step.
    """
    kernel = kernel.select(STEP_COLUMNS)
    shown = kernel.filter(usable())
    armed = shown.filter(pl.col("saw_ce").fill_null(True))
    probed = set(shown["event"].unique())
    for event in ("detect", "alpha"):
        steps = armed.filter(pl.col("event") == event) if event in probed else armed.clear()
        if not steps.is_empty():
            return _at_entry(_thawed(steps), kernel)
    if "alpha" in probed:
        return pl.DataFrame(schema=INPUTS)
    return _between(armed.filter(pl.col("event").is_in(PER_ACK)))


def _at_entry(steps: pl.DataFrame, kernel: pl.DataFrame) -> pl.DataFrame:
    """Samples that show the state before the step; the next one shows the state after it."""
    last = steps["ts_ns"][-1]
    later = kernel.filter(pl.col("ts_ns") > last)["classic_ecn_raw"].drop_nulls()
    final = later[0] if later.len() else None
    return steps.select(
        "source",
        "ts_ns",
        before="classic_ecn_raw",
        after=pl.col("classic_ecn_raw").shift(-1, fill_value=final),
        srtt_us=_whole("srtt_pace_us"),
        mdev_us=_whole("mdev_pace_us"),
        shift="g_srtt_shift",
        min_rtt_us="min_rtt_us",
        rest_mdev="rest_mdev_us",
        rest_depth="rest_depth_us",
    ).cast(INPUTS)


def _thawed(steps: pl.DataFrame) -> pl.DataFrame:
    """Drops a carry that never moves: the detector is switched off, its state means nothing."""
    same_scale = pl.col("g_srtt_shift") == pl.col("g_srtt_shift").shift()
    moved = steps.filter(same_scale & (pl.col("rest_mdev_us") != pl.col("rest_mdev_us").shift()))
    if not moved.is_empty():
        return steps
    nothing = pl.lit(None, dtype=pl.UInt32())
    return steps.with_columns(rest_mdev_us=nothing, rest_depth_us=nothing)


def _between(samples: pl.DataFrame) -> pl.DataFrame:
    """Samples after a step: score or alpha differ from the sample before."""
    score, alpha = pl.col("classic_ecn_raw"), pl.col("alpha_raw")
    changed = (score != score.shift()) | (alpha != alpha.shift())
    return (
        samples.with_columns(before=score.shift(), changed=changed)
        .filter(pl.col("changed"))
        .select(
            "source",
            "ts_ns",
            "before",
            after=score,
            srtt_us=_whole("srtt_pace_us"),
            mdev_us=_whole("mdev_pace_us"),
            shift="g_srtt_shift",
            min_rtt_us="min_rtt_us",
            rest_mdev=pl.lit(None),
            rest_depth=pl.lit(None),
        )
        .cast(INPUTS)
    )


def _whole(name: str) -> pl.Expr:
    """The kernel shifts the fraction away: whole microseconds go into the step."""
    return pl.col(name).floor().fill_null(0)


def replayed(steps: pl.DataFrame) -> pl.DataFrame:
    """Adds `fixed`, `buggy` (scores before the step, run from 0), `exact`, and per build of BUILDS
    classic_ecn after the step from the logged value before it. ``steps`` are those of `INPUTS`."""
    return steps.hstack(pl.DataFrame(_native.prague_replay(steps)))


def identified(steps: pl.DataFrame, bits: int | None) -> pl.DataFrame:
    """Adds `residue` of each unclamped step, and the `build` whose constants leave it."""
    if bits is None:
        return steps.with_columns(
            build=pl.lit(None, pl.String()), residue=pl.lit(None, pl.UInt64())
        )
    return steps.hstack(pl.DataFrame(_native.prague_identify(bits, steps)))
