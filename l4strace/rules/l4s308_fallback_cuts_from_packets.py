"""What the reductions on the wire show of the fallback where no kernel log does.

What it checks
--------------
Which law explains how the window of an ECT(1) sender follows its marks over the whole trace:
alpha/2, the classic-ECN fallback's floor of 31 % under it, or one half (which windows of 7 packets
and fewer do not distinguish from the floor). Three or four rounds show the floor, with low
confidence, where it explains them far better. Then whether that law suits the bottleneck that the
packets show and the score that correct thresholds give, replayed from packets. Directions with a
recorded score are left to the other L4S3xx rules.

Why it matters
--------------
Most captures come without kernel state. A reduction of 31 % at an alpha of 0.02 shows in the
packets alone: it is thirty times what alpha/2 gives.

Evidence
--------
`laws.law`, `lead`, `misfit`, `references`, `by_host`, `fraction`, `half_alpha` and the likelihoods;
`detector.score_fixed`, its bounds `score_fixed_lo` and `score_fixed_hi`, `mdev_us` and `depth_us`,
replayed from packets; `bottlenecks.kind`,
`confidence`, `marking_delay_us` and `serialisation_us`; `noise.jitter_us`; `phases.capacity_shown`;
`directions.data_ect1` (which sender requests L4S); `coexistence`; `kernel.classic_ecn` and `event`
(which directions have a recorded score, or a build without one).

When it is wrong
----------------
Other senders may use ECT(1) and reduce by about 30 % of their own accord: only if the sender is
Prague is it the fallback. In windows of a few packets, or with alpha near 0.6, a reduction to the
floor and one by alpha/2 differ by less than counting whole packets hides: the rule then does not
say that the fallback misfires, nor, where the score asks for the floor, that it does not act.

What to do
----------
As for L4S301 (misfire), L4S303 (the path) or L4S305 (no fallback behind a classic AQM). Record
kernel state with `l4strace capture` to be certain.

References
----------
tcp_prague.c, prague_classic_ecn_fallback; RFC 9331 section 4.3
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl

from l4strace.derive.laws import DEEP, ENOUGH, LEAD, LEAD_EACH, MISFIT, apart
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import paths, subjects
from l4strace.rules.support.fallback_states import (
    MIN_SHARE,
    PATH_CAUSES,
    jitter,
    replayed,
    replayed_part_of_time,
    replayed_percent,
    samples,
    shaken,
    slow_link,
)
from l4strace.rules.support.reductions import (
    few_at_the_floor,
    references,
    show_the_fallback,
)
from l4strace.schema.words import CLASSIC_OR_PER_FLOW
from l4strace.wording.quantities import milliseconds

CODE = "L4S308"
CLASSIC = {
    "classic": "a classic AQM",
    "shallow": "an AQM that marks classic flows too",
}
SUITED = CLASSIC | {
    "per-flow": "a classic AQM with a queue per flow",
    CLASSIC_OR_PER_FLOW: "a classic AQM, on one queue or with a queue per flow",
}
"""Bottlenecks behind which the fallback is meant to act."""

NEVER = 0.02
"""Share of the time that may be above 8, with correct thresholds, up to which the path gave no
reason: by eye; slow start alone takes the score there for some rounds."""

MOSTLY = 0.5
"""Share of the time above 8 from which a correct detector would have acted; one that acts all the
time although it is less does so for another reason."""

FOUND = ("floor", "alpha/2")
"""Laws of which a finding may speak."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each ECT(1) direction whose reductions follow one law."""
    laws = _laws(evidence)
    if laws.is_empty():
        return []
    verdicts = [_verdict(evidence, row) for row in _judged(evidence, laws)]
    found: list[Finding | Skipped] = [verdict for verdict in verdicts if verdict]
    if found or laws["law"].is_in(["half", "none"]).any():
        return found
    if (laws["law"] == "alpha/2").any():
        return [Skipped(CODE, "no usable reduction of an ECT(1) sender came at a score above 8")]
    if (laws["law"] == "floor").any():
        return [Skipped(CODE, "windows of a few packets hide how an ECT(1) sender reduces")]
    few = (laws["samples"] < ENOUGH).all()
    reason = "too few marked rounds show" if few else "no law explains clearly"
    return [Skipped(CODE, f"{reason} how an ECT(1) sender reduces")]


def _laws(evidence: Evidence) -> pl.DataFrame:
    """Laws of ECT(1) senders without a recorded score."""
    few = few_at_the_floor()
    laws = subjects.once(evidence, evidence.laws).with_columns(
        few=few,
        apart=apart(),
        told=show_the_fallback(),
        references=pl.when(few).then(references()).otherwise("references"),
    )
    laws = laws.join(subjects.scalable(evidence), on=subjects.KEY, how="semi")
    logged = samples(evidence).filter(pl.col("score_max").is_not_null() | pl.col("probed"))
    return laws.join(logged, on=subjects.DIRECTION, how="anti")


def _judged(evidence: Evidence, laws: pl.DataFrame) -> list[dict[str, Any]]:
    """Those that may give a finding, with bottleneck and replayed score: of short flows none.

    ``deeper``: no law is decided, and the floor explains the reductions better than alpha/2.
    """
    deeper = pl.col("law").is_null() & (pl.col("ll_floor") - pl.col("ll_half_alpha") >= LEAD)
    laws = laws.with_columns(deeper=deeper)
    laws = laws.filter(pl.col("law").is_in(FOUND) | "few" | "deeper")
    if laws.is_empty():
        return []
    laws = laws.join(subjects.bottlenecks(evidence), on=subjects.DIRECTION, how="left")
    laws = laws.join(paths.filled(evidence), on=subjects.KEY, how="left")
    laws = laws.join(jitter(evidence), on=subjects.DIRECTION, how="left")
    return laws.join(replayed(evidence), on=subjects.DIRECTION, how="left").to_dicts()


def _verdict(evidence: Evidence, row: dict[str, Any]) -> Finding | None:
    if row["law"] == "floor" or row["few"]:
        return _acting(evidence, row)
    if row["law"] == "alpha/2":
        told = row["told"] or _least(row) < MIN_SHARE
        return _scalable(evidence, row) if told else None
    # A floor as likely at all times is a small bias of the model, in windows of few packets.
    mixed = row["ll_floor"] - row["ll_floor_always"] >= LEAD and row["misfit"] <= MISFIT
    if row["deeper"] and mixed and row["kind"] == "l4s" and _slow(row):
        return _finding(row, Severity.NOTICE, Confidence.MEDIUM, _on_slow_link(row, "at times "))
    return None


def _acting(evidence: Evidence, row: dict[str, Any]) -> Finding | None:
    """The floor explains the window: right behind a classic AQM, else because of build or path."""
    numbers, when = _numbers(row), _when(evidence, row)
    kind = row["kind"]
    if kind in SUITED:
        message = (
            f"The classic-ECN fallback acts behind {SUITED[kind]}, as intended{when}: {numbers}."
        )
        return _finding(row, Severity.INFO, Confidence.MEDIUM, message)
    if row["references"] == "wrong" and _most(row) <= (MOSTLY if kind == "l4s" else NEVER):
        # Simulated run s9601-104: three flows with windows of 4 packets and alpha/2 of 11 %.
        return _misfired(row) if row["apart"] else None
    if kind == "l4s" and _slow(row):
        return _finding(row, Severity.NOTICE, Confidence.MEDIUM, _on_slow_link(row, ""))
    if kind == "l4s":
        why = shaken(row) or f"because of the path, as {PATH_CAUSES} can cause"
        cause = f" {why}" if _least(row) >= MIN_SHARE else ""
        message = (
            f"The classic-ECN fallback acts behind {subjects.l4s_aqm(row)}{cause}{when}: "
            f"{numbers}. {_high(row)}"
        )
        return _finding(row, Severity.NOTICE, Confidence.MEDIUM, message)
    return _finding(
        row, Severity.INFO, Confidence.MEDIUM, f"The classic-ECN fallback acts{when}: {numbers}."
    )


def _misfired(row: dict[str, Any]) -> Finding:
    """Correct thresholds do not explain the floor.

    Of a few packets rounding hides how deep a reduction is, so that large ones by alpha/2 look
    like it: simulated run s8104-144, a window of 4 packets at alpha/2 of 18 %.
    """
    proven = subjects.proven_l4s(row)
    never = _most(row) <= NEVER
    sure = proven and never and row["window_packets"] >= DEEP
    return _finding(
        row,
        Severity.ERROR,
        Confidence.HIGH if sure else Confidence.MEDIUM,
        f"The classic-ECN fallback misfired{' behind an L4S AQM' * proven}, as the packets show: "
        f"{_numbers(row)}. {_low(row) if never else _seldom(row)}",
    )


def _scalable(evidence: Evidence, row: dict[str, Any]) -> Finding:
    """Alpha/2 explains the window: a warning where a classic AQM is shown."""
    if row["kind"] in CLASSIC and (row["confidence"] or 0.0) >= subjects.ISOLATED_CONFIDENCE:
        at = (row["marking_delay_us"] or 0.0) / 1000
        why = (
            f"{_high(row)} The fallback is off, absent or only observes."
            if _least(row) >= MOSTLY
            else "Packets do not show whether the fallback is off, absent or missed the AQM."
        )
        return _finding(
            row,
            Severity.WARNING,
            Confidence.MEDIUM,
            f"An ECT(1) sender does not fall back behind {CLASSIC[row['kind']]}: its reductions "
            f"follow alpha/2 in a queue that all flows share and that marks from {at:.1f} ms"
            f"{subjects.starved_by(evidence, row['flow'])}. {why}",
        )
    return _finding(
        row,
        Severity.INFO,
        Confidence.MEDIUM,
        "The sender's reductions follow alpha/2 (median "
        f"{100 * (row['half_alpha'] or 0):.1f} %): a classic-ECN fallback does not act.",
    )


def _when(evidence: Evidence, row: dict[str, Any]) -> str:
    """When first and how much of the time, where the replayed score explains the reductions."""
    if row["references"] != "correct" or row["replayed_since_ns"] is None:
        return ""
    # It acts at marks: a score that is high before the first one that counts changes nothing yet.
    since = subjects.moment(evidence, max(row["replayed_since_ns"], row["first_ns"] or 0))
    part = replayed_part_of_time(row)
    return f", first at {since}{' and' if part else ''}{part}"


def _numbers(row: dict[str, Any]) -> str:
    """What the sender gave up, beside what alpha/2 asks for."""
    if row["by_host"]:
        rounds = f"{row['samples']:,} marked rounds of this flow"
        return f"{rounds} alone do not show it, those of all flows of its host do"
    given = row["fraction"]
    shown = f"by {100 * given:.0f} % (median) where" if given is not None else "as by 31 % where"
    return (
        f"after {row['samples']:,} marked rounds the window shrank {shown} alpha/2 asks for "
        f"{100 * (row['half_alpha'] or 0):.1f} %"
    )


def _on_slow_link(row: dict[str, Any], times: str) -> str:
    packet = row["serialisation_us"] / 1000
    link = f"a slow L4S link, where one packet takes {packet:.1f} ms"
    return f"The classic-ECN fallback acts {times}on {link}: {_numbers(row)}. {_high(row)}"


def _high(row: dict[str, Any]) -> str:
    if row["replayed_share"] is None:
        return "The packets do not show the score."
    return (
        "With correct thresholds the score, replayed from packets, exceeds 8 for "
        f"{replayed_percent(row)} of the time."
    )


def _low(row: dict[str, Any]) -> str:
    depth = milliseconds(row["replayed_depth_us"])
    mdev = milliseconds(row["replayed_mdev_us"], 2)
    return (
        f"Queue delay ({depth}, threshold 2 ms) and RTT deviation ({mdev}, threshold 0.75 ms) gave "
        "no reason: with correct thresholds the score stays below 8."
    )


def _seldom(row: dict[str, Any]) -> str:
    return (
        "Correct thresholds explain little of that: with them the score, replayed from packets, "
        f"exceeds 8 for {replayed_percent(row)} of the time."
    )


def _least(row: dict[str, Any]) -> float:
    """Share of the time with a replayed score above 8 for certain: 0 where no replay is there."""
    return float(row["replayed_share"] or 0.0)


def _most(row: dict[str, Any]) -> float:
    """The same with one that may be above 8: all of it where no replay is there."""
    return 1.0 if row["replayed_most"] is None else float(row["replayed_most"])


def _slow(row: dict[str, Any]) -> bool:
    """The time of a packet explains the score; a path that is never full may be faster."""
    if row["filled"] is False:
        return False
    return slow_link(row) and _least(row) >= MIN_SHARE


def _finding(
    row: dict[str, Any], severity: Severity, confidence: Confidence, message: str
) -> Finding:
    return Finding(
        CODE,
        severity,
        Confidence.LOW if row["by_host"] or row["few"] else confidence,
        message,
        "Record kernel state with `l4strace capture` to be certain." if severity else "",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=tuple(_measures(row)),
    )


def _measures(row: dict[str, Any]) -> Iterator[Measure]:
    """What is known of these: an unknown share is not 0."""
    needed = max(LEAD, LEAD_EACH * (row["samples"] or 0))
    low = "0 on an L4S AQM" if row["kind"] not in SUITED else ""
    for what, name, unit, expected in (
        ("marked rounds compared", "samples", "", ""),
        ("log-likelihood lead", "lead", "", f"at least {needed:.0f}"),
        ("median reduction", "fraction", "share", ""),
        ("median alpha/2", "half_alpha", "share", ""),
        ("time above 8, correct thresholds", "replayed_share", "share", low),
    ):
        if row[name] is not None:
            yield Measure(what, row[name], unit, expected)


RULE = Rule(
    CODE,
    "fallback-cuts-from-packets",
    "Fallback as the reductions on the wire show it.",
    check,
    __doc__,
)
