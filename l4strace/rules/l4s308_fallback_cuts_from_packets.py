"""What the reductions on the wire show of the fallback where no kernel log does.

What it checks
--------------
The share of the window that an ECT(1) sender gives up at CE, compared with alpha/2, with the 31 %
of the classic-ECN fallback and with one half; then whether that law suits the bottleneck that the
packets show. Directions with a recorded score are left to the other L4S3xx rules.

Why it matters
--------------
Most captures come without kernel state. A reduction of 31 % at an alpha of 0.02 shows in the
packets alone: it is thirty times what alpha/2 gives.

Evidence
--------
`cuts.law`, `fraction` and `alpha` that come from packets; `bottlenecks.kind`, `confidence`,
`marking_delay_us` and `serialisation_us`; `directions.data_ect1` (which sender means L4S);
`coexistence`; `kernel.classic_ecn` (which directions have a recorded score).

When it is wrong
----------------
Other senders may use ECT(1) and reduce by about 30 % of their own accord: only if the sender is
Prague is it the fallback. With windows of a few packets a single reduction fits several laws; the
verdict rests on the majority.

What to do
----------
As for L4S301 (misfire) or L4S305 (no fallback behind a classic AQM). Record kernel state with
`l4strace capture` to be certain.

References
----------
tcp_prague.c, prague_classic_ecn_fallback; RFC 9331 section 4.3
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_states import SLOW_PACKET_US, samples

CODE = "L4S308"
MIN_CUTS = 20
"""Reductions from which the majority is judged: a share of one half is then known to 0.2 (binomial,
95 %)."""

MAJORITY = 0.5
FEW = 0.15
"""Share of reductions at 31 % up to which they are accidents: by eye; in a window of 7 packets, one
packet that is counted wrongly changes a reduction by 14 %."""

CLASSIC = {
    "classic": "a classic AQM",
    "shallow": "an AQM that marks classic flows too",
}
SUITED = CLASSIC | {"per-flow": "a classic AQM with a queue per flow"}
"""Bottlenecks behind which the fallback is meant to act."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each ECT(1) direction whose reductions follow one law."""
    laws = _laws(evidence)
    if laws.is_empty():
        return []
    enough = laws.filter(pl.col("cuts") >= MIN_CUTS).join(
        subjects.bottlenecks(evidence).filter(pl.col("kind") != "unknown"),
        on=subjects.DIRECTION,
        how="inner",
    )
    if enough.is_empty():
        return [Skipped(CODE, f"fewer than {MIN_CUTS} reductions of ECT(1) senders at CE marks")]
    verdicts = (_verdict(evidence, row) for row in enough.iter_rows(named=True))
    return [verdict for verdict in verdicts if verdict]


def _laws(evidence: Evidence) -> pl.DataFrame:
    """Which laws explain the CE reductions of ECT(1) senders without a recorded score."""
    cuts = subjects.once(evidence, evidence.cuts).filter(
        (pl.col("origin") == "packets") & (pl.col("cause") == "ce")
    )
    cuts = cuts.join(subjects.scalable(evidence), on=subjects.KEY, how="semi")
    logged = samples(evidence).filter(pl.col("score_max").is_not_null())
    cuts = cuts.join(logged, on=subjects.DIRECTION, how="anti")
    return cuts.group_by(subjects.KEY, maintain_order=True).agg(
        pl.len().alias("cuts"),
        (pl.col("law") == "floor").mean().alias("floor"),
        (pl.col("law") == "alpha/2").mean().alias("half_alpha"),
        pl.col("fraction").median().alias("fraction"),
        (pl.col("alpha") / 2).median().alias("expected"),
        pl.col("ts_ns").min().alias("first_ns"),
        pl.col("ts_ns").max().alias("last_ns"),
    )


def _verdict(evidence: Evidence, row: dict[str, Any]) -> Finding | None:
    numbers = (
        f"{100 * row['floor']:.0f} % of {row['cuts']:,} reductions fit the fallback's 31 % (median "
        f"reduction {100 * row['fraction']:.0f} %, median alpha/2 "
        f"{100 * (row['expected'] or 0):.1f} %)"
    )
    if row["floor"] >= MAJORITY:
        return _acting(row, numbers)
    if row["floor"] > FEW and row["kind"] == "l4s" and _slow(row):
        return _at_times(row, numbers)
    if row["half_alpha"] < MAJORITY or row["floor"] > FEW:
        return None
    if row["kind"] in CLASSIC and row["confidence"] >= subjects.ISOLATED_CONFIDENCE:
        at = (row["marking_delay_us"] or 0.0) / 1000
        return _finding(
            row,
            Severity.WARNING,
            Confidence.MEDIUM,
            "An ECT(1) sender does not fall back behind a classic AQM: its reductions follow "
            f"alpha/2 in a queue that all flows share and that marks from {at:.1f} ms"
            f"{subjects.starved_by(evidence, row['flow'])}. Packets do not show whether the "
            "fallback is off, absent or missed the AQM.",
        )
    return _finding(
        row,
        Severity.INFO,
        Confidence.MEDIUM,
        f"The sender's reductions follow alpha/2 (median {100 * (row['expected'] or 0):.1f} %): "
        "a classic-ECN fallback does not act.",
    )


def _acting(row: dict[str, Any], numbers: str) -> Finding:
    if row["kind"] != "l4s":
        where = f" behind {SUITED[row['kind']]}, as intended" if row["kind"] in SUITED else ""
        message = f"The classic-ECN fallback acts{where}: {numbers}."
        return _finding(row, Severity.INFO, Confidence.MEDIUM, message)
    if _slow(row):
        return _at_times(row, numbers)
    message = f"The classic-ECN fallback misfired behind an L4S AQM, as packets show it: {numbers}."
    return _finding(row, Severity.ERROR, Confidence.MEDIUM, message)


def _slow(row: dict[str, Any]) -> bool:
    return (row["serialisation_us"] or 0.0) >= SLOW_PACKET_US


def _at_times(row: dict[str, Any], numbers: str) -> Finding:
    packet = row["serialisation_us"] / 1000
    acts = "acts" if row["floor"] >= MAJORITY else "acts at times"
    link = f"a slow L4S link, where one packet takes {packet:.1f} ms"
    message = f"The classic-ECN fallback {acts} on {link}: {numbers}."
    return _finding(row, Severity.NOTICE, Confidence.MEDIUM, message)


def _finding(
    row: dict[str, Any], severity: Severity, confidence: Confidence, message: str
) -> Finding:
    return Finding(
        CODE,
        severity,
        confidence,
        message,
        "Record kernel state with `l4strace capture` to be certain." if severity else "",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("reductions", row["cuts"]),
            Measure("reductions that fit 31 %", row["floor"], "share", "0 on an L4S AQM"),
            Measure("reductions that fit alpha/2", row["half_alpha"], "share"),
            Measure("median reduction", row["fraction"], "share"),
        ),
    )


RULE = Rule(
    CODE,
    "fallback-cuts-from-packets",
    "Fallback as the reductions on the wire show it.",
    check,
    __doc__,
)
