"""What kernel logs say of Prague's classic-ECN fallback, one row a flow direction."""

from __future__ import annotations

import polars as pl

from l4strace.evidence import Evidence, kept
from l4strace.prague.constants import (
    CLASSIC_THRESHOLD,
    DEPTH_REFERENCE_US,
    MDEV_REFERENCE_US,
    SCALABLE_THRESHOLD,
)

MDEV_US, DEPTH_US = MDEV_REFERENCE_US, DEPTH_REFERENCE_US
"""References of the detector: RTT mean deviation and queue depth."""

MIN_SHARE = 0.1
"""A state counts from a tenth of the detector's steps; less is a passing mistake."""

BY = ("flow", "forward")


@kept
def steps(evidence: Evidence) -> pl.DataFrame:
    """Detector steps that the kernel recorded, summed up per direction.

    `classic_share` of steps in the zones above 8, `classic_since_ns` of the first of them, the
    medians of what went into those steps, how far both replays climbed, and the builds that the
    residues name.
    """
    recorded = evidence.detector.filter(
        (pl.col("origin") == "kernel")
        & pl.col("score").is_not_null()
        & pl.col("flow").is_not_null()
    ).sort("ts_ns")
    above = pl.col("score") > SCALABLE_THRESHOLD
    deviation = (pl.col("score_fixed") - pl.col("score")).abs()
    return recorded.group_by(BY, maintain_order=True).agg(
        pl.col("source").first().alias("log"),
        pl.len().alias("steps"),
        above.mean().alias("classic_share"),
        (pl.col("score") >= CLASSIC_THRESHOLD).mean().alias("full_share"),
        pl.col("ts_ns").filter(above).min().alias("classic_since_ns"),
        pl.col("ts_ns").max().alias("last_ns"),
        pl.col("score").max().alias("score_max"),
        pl.col("score").median().alias("score_median"),
        pl.col("mdev_us").median().alias("mdev_us"),
        pl.col("depth_us").median().alias("depth_us"),
        pl.col("mdev_us").filter(above).median().alias("classic_mdev_us"),
        pl.col("depth_us").filter(above).median().alias("classic_depth_us"),
        (pl.col("score_fixed") > SCALABLE_THRESHOLD).mean().alias("fixed_share"),
        (pl.col("score_buggy") > SCALABLE_THRESHOLD).mean().alias("buggy_share"),
        deviation.median().alias("fixed_error"),
        (pl.col("score_buggy") - pl.col("score")).abs().median().alias("buggy_error"),
        pl.col("build").drop_nulls().mode().first().alias("build"),
        pl.col("build").drop_nulls().len().alias("residues"),
        pl.col("exact").fill_null(False).all().alias("exact"),
    )


@kept
def samples(evidence: Evidence) -> pl.DataFrame:
    """Prague's own samples per direction: whether a score is there, and whether it moved.

    Samples before `prague_init` show a zeroed private area (alpha 0 on the SYN/ACK) and are left
    out: they lie before the first sample with `saw_ce` or a positive alpha, unless alpha stays 0.
    """
    prague = evidence.kernel.filter(pl.col("flow").is_not_null() & pl.col("alpha").is_not_null())
    begun = pl.col("ts_ns").filter(pl.col("event") == "init").min().over(BY)
    prague = prague.filter(pl.col("ts_ns") >= pl.coalesce(begun, pl.col("ts_ns"))).sort("ts_ns")
    return prague.group_by(BY, maintain_order=True).agg(
        pl.col("source").first().alias("log"),
        pl.len().alias("samples"),
        pl.col("classic_ecn").max().alias("score_max"),
        pl.col("alpha").first().alias("alpha_first"),
        pl.col("alpha").last().alias("alpha_last"),
        pl.col("alpha").min().alias("alpha_min"),
        pl.col("alpha").max().alias("alpha_max"),
        pl.col("alpha").n_unique().alias("alphas"),
        pl.col("saw_ce").max().alias("saw_ce"),
        pl.col("delivered_ce").max().alias("delivered_ce"),
        pl.col("delivered_ce").min().alias("delivered_ce_first"),
        (pl.col("event") == "alpha").sum().alias("updates"),
        pl.col("ts_ns").max().alias("last_ns"),
    )


def without_score(evidence: Evidence) -> str:
    """Why the rules on the recorded score cannot judge."""
    if evidence.kernel.is_empty() and evidence.aggregates:
        return "the kernel log holds only counters"
    if evidence.kernel.is_empty():
        return "no kernel log"
    if evidence.kernel["flow"].is_null().all():
        return "the kernel log does not belong to a flow of the capture"
    if evidence.kernel["classic_ecn"].is_null().all():
        return "the kernel log has no classic_ecn"
    return "the kernel log shows no step of the fallback's detector"
