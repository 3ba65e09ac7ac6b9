"""The `detector` table: each step of Prague's classic-ECN detector, recorded and replayed.

From a kernel log the recorded inputs are replayed with the correct and with the buggy references;
from packets alone the tracker has replayed RTT filters and score per round (`rounds`).
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import company, numbers
from l4strace.derive.steps import Logged, logged
from l4strace.evidence import Capture
from l4strace.schema.evidence import DETECTOR
from l4strace.schema.keys import DIRECTION, KEY, OF, of_round

NEEDED = (
    *("round", "end_ns", "ce_best", "rtt_min_us", "sacked_rtt_min_us", "srtt_pace_us"),
    *("mdev_pace_us", "classic_ecn", "classic_ecn_lo", "classic_ecn_hi", "classic_ecn_buggy"),
)
"""Columns of `rounds` that a step follows from: the others need not be copied."""


def table(capture: Capture) -> pl.DataFrame:
    """All steps of all flow directions that may run Prague, by flow and time."""
    parts = [_kernel_steps(part) for part in logged(capture)]
    frames = [*parts, _packet_steps(capture)]
    return pl.concat(frames).sort(*DIRECTION, "origin", "ts_ns", maintain_order=True)


def _kernel_steps(part: Logged) -> pl.DataFrame:
    if part.steps.is_empty():
        return DETECTOR.empty()
    unit = pl.lit(None if part.bits is None else float(1 << part.bits), dtype=pl.Float64())
    depth = pl.col("srtt_us") - pl.col("min_rtt_us").cast(pl.Int64)
    return DETECTOR.conform(
        part.steps.select(
            "source",
            "ts_ns",
            "mdev_us",
            "exact",
            "residue",
            "build",
            flow=pl.lit(part.flow),
            forward=pl.lit(part.forward),
            origin=pl.lit("kernel"),
            depth_us=depth.clip(lower_bound=0),
            score=pl.col("before") / unit,
            score_after=pl.col("after") / unit,
            score_fixed="fixed",
            score_buggy="buggy",
        )
    )


def _packet_steps(capture: Capture) -> pl.DataFrame:
    """Rounds of ECT(1) senders from the first CE on; the replayed score before each round."""
    sender = (pl.col("data_ect1") + pl.col("data_ce") > 0).fill_null(False)
    senders = company.directions(capture).select(sender).to_series()
    sent = numbers.sent(capture, senders, NEEDED).lazy()
    seen = sent.with_columns(
        pl.col("ce_best").fill_null(0),
        least=_kernel_least(),
        first=of_round(-1, pl.col("round"), OF).is_null(),
    )
    known = seen.collect()
    so_far = pl.DataFrame(_native.path_so_far(known.select("of", "ce_best", "least").rechunk()))
    scored = (
        known.hstack(so_far)
        .lazy()
        .with_columns(
            score_fixed=_before("classic_ecn"),
            score_fixed_lo=_before("classic_ecn_lo"),
            score_fixed_hi=_before("classic_ecn_hi"),
            score_buggy=_before("classic_ecn_buggy"),
        )
    )
    armed = scored.filter(pl.col("marked") & pl.col("mdev_pace_us").is_not_null())
    steps = armed.select(
        *KEY,
        "score_fixed",
        "score_fixed_lo",
        "score_fixed_hi",
        "score_buggy",
        ts_ns="end_ns",
        origin=pl.lit("packets"),
        mdev_us="mdev_pace_us",
        depth_us=(pl.col("srtt_pace_us") - pl.col("min_rtt")).clip(lower_bound=0),
        exact=pl.lit(False),
    ).collect()
    return DETECTOR.conform(steps)


def _kernel_least() -> pl.Expr:
    """Smallest RTT of a round as tcp_min_rtt has it: packets that overtook others count."""
    return pl.min_horizontal("rtt_min_us", "sacked_rtt_min_us")


def _before(score: str) -> pl.Expr:
    """A score before each round; 0 before a direction's `first`."""
    return pl.when("first").then(0.0).otherwise(pl.col(score).shift())
