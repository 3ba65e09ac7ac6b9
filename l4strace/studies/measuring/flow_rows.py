"""Rows of a sweep's `flows` from the evidence of one run: one per direction that carries data."""

from __future__ import annotations

import polars as pl

from l4strace.derive import marked, neighbors, queue_delay, timed, vantage
from l4strace.evidence import Evidence
from l4strace.prague.constants import CLASSIC_THRESHOLD, SCALABLE_THRESHOLD
from l4strace.schema.keys import DIRECTION, KEY
from l4strace.schema.sweep import SWEEP_FLOWS

LEAST_BYTES = 29_200
"""Acknowledged payload from which a direction counts: two initial windows of 10 packets (RFC 6928)
and 1,460 bytes. The control connections of iperf3 and netperf stay below."""

CLASSIC_LAWS = ("floor", "half")


def table(evidence: Evidence, run: str) -> pl.DataFrame:
    """The rows, with every number from the capture nearest to the direction's sender."""
    near = vantage.once(evidence, neighbors.directions(evidence)).filter(
        pl.col("acked_bytes") >= LEAST_BYTES
    )
    rows = (
        near.select(
            *KEY, "path", "mode", "rtt_min_us", "rtt_mean_us",
            l4s=pl.col("marked_as") == "ect1",
            losses="retransmits",
            packets="data_packets",
            ce_share=marked.share(),
        )
        .join(_rounds(evidence), on=KEY, how="left")
        .join(_cuts(evidence), on=DIRECTION, how="left")
        .join(_laws(evidence), on=KEY, how="left")
        .join(_detector(evidence), on=DIRECTION, how="left")
        .join(_labels(evidence), on=DIRECTION, how="left")
        .join(_capacity(evidence), on=["source", "path"], how="left")
    )  # fmt: skip
    # Short flows: each took most of the link in its short life, and all of them a part of the run.
    span = pl.col("end_ns").max() - pl.col("start_ns").min()
    average = pl.when(span > 0).then(pl.col("round_bytes") * 8e9 / span)
    total = pl.col("round_bytes").sum().over("path")
    return SWEEP_FLOWS.conform(
        rows.with_columns(
            run=pl.lit(run),
            average_bps=average,
            lasted_s=(pl.col("end_ns") - pl.col("start_ns")) / 1e9,
            share=pl.col("round_bytes") / total,
            utilization=average / pl.col("capacity_bps"),
        )
    ).sort("flow", "forward", descending=[False, True])


def _rounds(evidence: Evidence) -> pl.DataFrame:
    rounds = vantage.once(evidence, queue_delay.rounds(evidence))
    span = pl.col("end_ns").max() - pl.col("start_ns").min()
    return rounds.group_by(KEY).agg(
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        round_bytes=pl.col("acked_bytes").sum(),
        goodput_bps=pl.when(span > 0).then(pl.col("acked_bytes").sum() * 8e9 / span),
        queue_delay_us=timed.median("queue_delay_us"),
        queue_delay_p99_us=timed.quantile("queue_delay_us", 0.99),
    )


def _cuts(evidence: Evidence) -> pl.DataFrame:
    """Reductions after CE whose law is known, and how many of them are classic.

    Those that a kernel log holds, else those that the packets nearest to the sender show.
    """
    logged = evidence.cuts.filter(pl.col("origin") == "kernel")
    shown = vantage.once(evidence, evidence.cuts.filter(pl.col("origin") != "kernel"))
    rest = shown.join(logged, on=DIRECTION, how="anti")
    known = pl.concat([logged, rest]).filter(
        (pl.col("cause") == "ce") & pl.col("law").is_not_null()
    )
    return known.group_by(DIRECTION).agg(
        cuts=pl.len(), classic_cuts=pl.col("law").is_in(CLASSIC_LAWS).sum()
    )


def _laws(evidence: Evidence) -> pl.DataFrame:
    return evidence.laws.select(*KEY, "law").unique(KEY, keep="first", maintain_order=True)


def _detector(evidence: Evidence) -> pl.DataFrame:
    """Shares of the logged steps in which the floor acts wholly, and in part."""
    logged = evidence.detector.filter(pl.col("score").is_not_null())
    score = pl.col("score")
    return logged.group_by(DIRECTION).agg(
        time_classic=(score >= CLASSIC_THRESHOLD).mean(),
        time_transition=((score > SCALABLE_THRESHOLD) & (score < CLASSIC_THRESHOLD)).mean(),
    )


def _labels(evidence: Evidence) -> pl.DataFrame:
    """Congestion control, where a log names it."""
    named = evidence.kernel.filter(pl.col("cc").is_not_null() & pl.col("flow").is_not_null())
    return named.group_by(DIRECTION).agg(label=pl.col("cc").mode().sort().first())


def _capacity(evidence: Evidence) -> pl.DataFrame:
    """Capacity of a path that packets show, over its phases by their length."""
    shown = evidence.phases.filter("capacity_shown")
    length = (pl.col("end_ns") - pl.col("start_ns")).cast(pl.Float64)
    return shown.group_by("source", "path").agg(
        capacity_bps=(pl.col("capacity_bps") * length).sum() / length.sum()
    )
