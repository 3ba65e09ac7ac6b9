"""What the cuts on the wire say of the fallback, where no kernel log does.

What it checks
--------------
The share of the window that an ECT(1) sender gives up at each CE, against alpha/2, the 0.3125 floor
of the classic fallback and one half; then whether that fits the bottleneck that the packets show.

Why it matters
--------------
Most captures come without kernel state. A floor of 31 % at an alpha of 0.02 is visible in the
packets alone: ten times the cut that alpha asks for.

Evidence
--------
`cuts` with origin `packets`, `rounds.alpha`, `bottlenecks`.

When it is wrong
----------------
Other senders may use ECT(1) with cuts of about 30 % of their own: the floor is Prague's only if the
sender is Prague. With windows of a few packets a single cut cannot be told; the verdict rests on
the majority.

What to do
----------
As for L4S301 (misfire) or L4S305 (no fallback on a classic AQM); record kernel state with
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
from l4strace.rules.support.fallback_states import samples

CODE = "L4S308"
MIN_CUTS = 20
"""Cuts from which a majority means something; a window of 7 packets blurs each by a packet."""

MAJORITY = 0.5
FEW = 0.15
SLOW_US = 1500.0
"""As in L4S303: one packet takes as long as the detector's references on slower links."""

CLASSIC = ("classic", "shallow")


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each ECT(1) direction whose cuts follow one law."""
    laws = _laws(evidence)
    if laws.is_empty():
        return []
    enough = laws.filter(pl.col("cuts") >= MIN_CUTS).join(
        subjects.bottlenecks(evidence).filter(pl.col("kind") != "unknown"),
        on=subjects.DIRECTION,
        how="inner",
    )
    if enough.is_empty():
        return [Skipped(CODE, f"fewer than {MIN_CUTS} cuts of ECT(1) senders at CE marks")]
    said: list[Finding | Skipped] = []
    for row in enough.iter_rows(named=True):
        verdict = _verdict(evidence, row)
        if verdict:
            said.append(verdict)
    return said


def _laws(evidence: Evidence) -> pl.DataFrame:
    """Which laws explain the CE cuts of ECT(1) senders without kernel state of their own."""
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
        f"{100 * row['floor']:.0f} % of {row['cuts']} cuts at the fallback's floor (median "
        f"{100 * row['fraction']:.0f} %) where alpha/2 is {100 * (row['expected'] or 0):.1f} %"
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
            f"No fallback on a classic AQM: cuts follow alpha/2 in one queue that marks all flows "
            f"from {at:.1f} ms{subjects.starved_by(evidence, row['flow'])}; packets cannot show "
            "whether it is off, absent or missed.",
        )
    return _finding(
        row,
        Severity.INFO,
        Confidence.MEDIUM,
        f"Cuts follow alpha/2 ({100 * (row['expected'] or 0):.1f} %): the fallback does not act.",
    )


def _acting(row: dict[str, Any], numbers: str) -> Finding:
    if row["kind"] != "l4s":
        right = row["kind"] in (*CLASSIC, "per-flow")
        message = f"Fallback acts{' rightly, on a classic AQM' if right else ''}: {numbers}."
        return _finding(row, Severity.INFO, Confidence.MEDIUM, message)
    if _slow(row):
        return _at_times(row, numbers)
    message = f"Fallback misfired on an L4S AQM, as far as packets show: {numbers}."
    return _finding(row, Severity.ERROR, Confidence.MEDIUM, message)


def _slow(row: dict[str, Any]) -> bool:
    return (row["serialisation_us"] or 0.0) >= SLOW_US


def _at_times(row: dict[str, Any], numbers: str) -> Finding:
    packet = row["serialisation_us"] / 1000
    acts = "acts" if row["floor"] >= MAJORITY else "acts at times"
    message = f"Fallback {acts} on a slow L4S link (one packet takes {packet:.1f} ms): {numbers}."
    return _finding(row, Severity.NOTICE, Confidence.MEDIUM, message)


def _finding(
    row: dict[str, Any], severity: Severity, confidence: Confidence, message: str
) -> Finding:
    return Finding(
        CODE,
        severity,
        confidence,
        message,
        "Record kernel state with l4strace capture to be certain." if severity else "",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("cuts", row["cuts"]),
            Measure("at the 0.3125 floor", row["floor"], "share", "0 on an L4S AQM"),
            Measure("at alpha/2", row["half_alpha"], "share"),
            Measure("median cut", row["fraction"], "share"),
        ),
    )


RULE = Rule(CODE, "fallback-cuts-from-packets", "Fallback as the cuts show it.", check, __doc__)
