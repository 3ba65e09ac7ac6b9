"""The fixed frame of a verdict: what limits the traffic, how it is shared, what the fallback does.

It rests on derived tables and on what the rules found, and stands in each output beside the worst
finding, so that no verdict leaves one of the three questions open.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import polars as pl

from l4strace.derive import short_flows
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Frame, Severity
from l4strace.prague.constants import SCALABLE_THRESHOLD
from l4strace.rules.support import subjects
from l4strace.rules.support.fallback_states import BUG_ADDS, DEPTH_US, MIN_STEPS, unused_by
from l4strace.schema.words import BOTTLENECKS, CLASSIC_OR_PER_FLOW
from l4strace.wording import vantages
from l4strace.wording.quantities import at_delay, count, marking_delay, quantity, share

LARGE = 0.1
"""Share of the largest flow's bytes from which a flow counts as traffic that something limits; one
that starves counts however small it is. By eye."""
FEW_BYTES = 14_600
"""Up to which no flow is called large: an initial window of 10 segments (RFC 6928)."""
LONG = 100
"""Characters of a fact that one line and a half hold."""
UNKNOWN = {"unknown": 1, "no-ecn": 2}
"""Kinds that are none, in the order in which they follow the others."""
HELD_BACK = 0.5
"""Share of a flow's rounds that its application or receive window limits, from which that, not the
path, gives its rate: most."""
SUITED = ("classic", "shallow", "per-flow", CLASSIC_OR_PER_FLOW)
"""Bottlenecks behind which a fallback is meant to act: as in L4S308."""
MOST = 0.9
"""Share of the steps above 8 from which the score is right behind them. By eye: some steps pass
before a detector has seen the queue."""
NAMED = 3
"""Flows that one line names; the table of flows has all."""

FALLBACK = (
    ("L4S301", "misfires"),
    ("L4S303", "active, and conditions of the path explain it"),
    ("L4S304", "inactive behind a classic AQM"),
    ("L4S305", "switched off, or it only observes"),
    ("L4S309", "active behind a classic AQM, as it should be"),
    ("L4S306", "not in this kernel"),
    ("L4S307", "never armed: the log shows no step of the detector"),
)
"""What the rules on the fallback found, the weightiest first."""
FROM_PACKETS = "L4S308"
"""The rule that answers where none of these does."""
PERHAPS = {"L4S303": "unknown: Prague's detector would take this path for a classic AQM"}
"""The same, where all that a rule found is of low confidence."""
PERHAPS_RECORDED = {"L4S303": "conditions of the path keep the score up, whatever the AQM is"}
"""Of those, with the score that the kernel recorded."""
IDLE = {"L4S301": "the score is higher than the path explains, yet no reduction uses it"}
"""The same, where a rule reports nothing worse than a notice."""
UNUSED_SCORE = {"L4S303": "the score is high because of the path, yet no reduction uses it"}
"""The same, where that holds for all flows of the findings."""


def frame(
    evidence: Evidence, findings: Sequence[Finding], left_out: Collection[str] = ()
) -> Frame | None:
    """The three lines; null without TCP flows. ``left_out``: codes of rules that were not asked."""
    if evidence.directions.is_empty():
        return None
    starves = evidence.coexistence["starved_since_ns"].is_not_null().any()
    fallback = _fallback(evidence, findings, left_out)
    return Frame(_limits(evidence), _sharing(evidence), fallback, starves)


def _limits(evidence: Evidence) -> str:
    """`L4S AQM (flows 0 and 1)`, by what most bytes met first."""
    rows = subjects.once(evidence, evidence.bottlenecks).join(
        evidence.directions.select(*subjects.KEY, "payload_bytes"), on=subjects.KEY, how="left"
    )
    starved = subjects.once(evidence, evidence.coexistence).filter(
        pl.col("starved_since_ns").is_not_null()
    )
    counts = (pl.col("payload_bytes") >= LARGE * pl.col("payload_bytes").max()) | (
        pl.col("flow").is_in(starved["flow"].implode())
    )
    rows = rows.filter(counts).sort("payload_bytes", "flow", descending=[True, False])
    if rows.is_empty():
        return _at_receiver(evidence) or "Unknown: no flow has enough round trips with data."
    kinds: dict[str, list[dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        kinds.setdefault(_kind(row), []).append(row)
    ordered = sorted(kinds.items(), key=lambda kind: UNKNOWN.get(kind[0], 0))
    return _sentence("; ".join(_limit(kind, rows, len(kinds) > 1) for kind, rows in ordered))


def _at_receiver(evidence: Evidence) -> str:
    """What a capture at the receiver shows of the bottleneck: marks."""
    counted = evidence.directions.select(*subjects.KEY, "data_packets", "data_ce", "payload_bytes")
    views = subjects.once(evidence, counted.filter(pl.col("data_packets") > 0)).join(
        evidence.flows.select("source", "flow", "vantage"), on=["source", "flow"], how="left"
    )
    far = views.with_columns(vantages.place().alias("place")).filter(
        (pl.col("place") == "receiver")
        & (pl.col("payload_bytes") >= LARGE * pl.col("payload_bytes").max())
    )
    if far.is_empty():
        return ""
    shares = [
        f"{share(row['data_ce'] / row['data_packets'])} of flow {row['flow']}"
        for row in far.sort("flow").head(NAMED).iter_rows(named=True)
    ]
    return (
        "Unknown: a capture at the receiver holds no queue delay. Data packets that arrive "
        f"marked: {', '.join(shares)}."
    )


def _kind(row: dict[str, Any]) -> str:
    """Its own for packets without ECN, whose reason holds for no other flow."""
    kind: str = row["kind"] or "unknown"
    return "no-ecn" if kind == "unknown" and _without_ecn(row["reason"] or "") else kind


def _without_ecn(reason: str) -> bool:
    return reason.startswith("Not-ECT")


def _limit(kind: str, rows: list[dict[str, Any]], several: bool) -> str:
    sure = max(row["confidence"] or 0.0 for row in rows)
    if kind in UNKNOWN:
        reason = (rows[0]["reason"] or "the packets do not show it").rstrip(".")
        reason = reason.removeprefix("Cannot be determined: ")
        text = f"unknown: {reason if _without_ecn(reason) else _inline(reason)}"
    else:
        text = f"{subjects.hedge(sure)}{BOTTLENECKS[kind]}{_marks(rows)}"
    return f"{text} ({_flows([row['flow'] for row in rows])})" if several else text


def _marks(rows: list[dict[str, Any]]) -> str:
    """`, marking at 0.28 ms of queue delay`: as the flow with the shortest queue meets it."""
    known = [row for row in rows if row["marking_delay_us"] is not None]
    if not known:
        return ""
    shortest = min(known, key=lambda row: float(row["marking_delay_us"]))
    return f", marking {at_delay(marking_delay(shortest))} of queue delay"


def _inline(reason: str) -> str:
    return reason[0].lower() + reason[1:]


def _sharing(evidence: Evidence) -> str:
    """Who has what: the worst starvation, the rates of a pair, or one flow and its company."""
    pairs = subjects.once(evidence, evidence.coexistence)
    short = short_flows.sentence(evidence)
    starved = pairs.filter(pl.col("starved_since_ns").is_not_null()).sort("starved_share")
    if starved.height:
        return _sentence(_starvation(evidence, starved), short)
    if pairs.height:
        return _sentence(_shares(pairs), short)
    return _sentence(_alone(evidence, short), short)


def _starvation(evidence: Evidence, starved: pl.DataFrame) -> str:
    row = starved.row(0, named=True)
    own, other = (
        quantity(row[name], "bit/s") for name in ("starved_rate_bps", "starved_other_rate_bps")
    )
    since = subjects.moment(evidence, row["starved_since_ns"])
    more = starved["flow"].n_unique() - 1
    also = f"; {count(more, 'more flow')} starve{'s' if more == 1 else ''}" if more else ""
    return (
        f"flow {row['flow']} starves from {since}: {own} beside {other} of "
        f"flow {row['other_flow']} ({share(row['starved_share'])} of both){also}"
    )


def _shares(pairs: pl.DataFrame) -> str:
    """The most unequal pair of all."""
    row = pairs.sort("jain", "flow").row(0, named=True)
    flows = pairs["flow"].n_unique()
    which = "" if flows == 2 else f"{count(flows, 'flow')}, the most unequal pair: "
    both = pl.col("flow").is_in([row["flow"], row["other_flow"]]) & pl.col("other_flow").is_in(
        [row["flow"], row["other_flow"]]
    )
    held = pairs.filter(both & (pl.col("held_back") >= HELD_BACK))["flow"].to_list()
    # What asks for no more has no unfair share.
    index = f"Jain's index {row['jain']:.2f}"
    why = f"application or receive window limits {_flows(held)}" if held else index
    return (
        f"{which}flow {row['flow']} has {quantity(row['rate_bps'], 'bit/s')}, flow "
        f"{row['other_flow']} {quantity(row['other_rate_bps'], 'bit/s')} while both send ({why})"
    )


def _alone(evidence: Evidence, short: str) -> str:
    sent = evidence.directions.select(*subjects.KEY, "payload_bytes", "first_ns", "last_ns")
    sending = subjects.once(evidence, sent.filter(evidence.directions["data_packets"] > 0))
    carried = sending.sort("payload_bytes", descending=True)
    if carried.is_empty():
        return "no flow carried data"
    first = carried.row(0, named=True)
    if short and carried.height > 1 and not short_flows.is_long(evidence, first["flow"]):
        return ""
    seconds = (first["last_ns"] - first["first_ns"]) / 1e9
    rate = f", {quantity(8 * first['payload_bytes'] / seconds, 'bit/s')}" if seconds > 0 else ""
    # Both directions of one flow carry data: that is no company.
    others = carried.filter(pl.col("flow") != first["flow"])
    only = "is the only flow with data"
    if short:
        only = "sends beside short flows"
    elif others.height and first["payload_bytes"] < FEW_BYTES:
        return f"no flow carried more than {quantity(first['payload_bytes'], 'byte')}"
    elif others.filter(pl.col("payload_bytes") >= LARGE * first["payload_bytes"]).height:
        only = "carried most, and no other large one sent beside it for long"
    elif others.height:
        only = "is the only large flow"
    return f"flow {first['flow']} {only}{rate}"


def _fallback(evidence: Evidence, findings: Sequence[Finding], left_out: Collection[str]) -> str:
    """What the rules found; else what the kernel recorded; else why it is not known."""
    if subjects.scalable(evidence).is_empty() and evidence.kernel["alpha"].is_null().all():
        return "Nothing to judge: no data packet carries ECT(1), as those of a Prague flow do."
    active = _recorded(evidence)
    for rule, what in FALLBACK:
        found = [finding for finding in findings if finding.rule == rule]
        if found:
            sure = any(finding.confidence > Confidence.LOW for finding in found)
            idle = max(finding.severity for finding in found) <= Severity.NOTICE
            what = IDLE.get(rule, what) if idle and sure else what
            flows = [finding.flow for finding in found if finding.flow is not None]
            where = f" ({_flows(flows)})" if flows else ""
            if not sure:
                perhaps = PERHAPS_RECORDED if active else PERHAPS
                what = perhaps.get(rule, f"not certain: {what}")
            elif all((finding.flow, finding.forward) in unused_by(evidence) for finding in found):
                what = UNUSED_SCORE.get(rule, what)
            return _sentence(f"{what}{where}", active)
    if not active and evidence.kernel["classic_ecn"].is_not_null().any():
        return "Idle: the kernel log shows no step of the detector."
    if active:
        right = ", as intended behind this bottleneck" if _intended(evidence) else ""
        return _sentence(active + right)
    if FROM_PACKETS in left_out:
        return f"Not judged: {FROM_PACKETS}, which judges it from packets, was left out."
    packets = next((f for f in findings if f.rule == FROM_PACKETS), None)
    return (
        _sentence(_of_packets(packets)) if packets else ""
    ) or "Unknown: no kernel log with Prague's score, and no clear reductions."


def _of_packets(finding: Finding) -> str:
    fact = _first_fact(finding.message)
    return f"not certain: {_inline(fact)}" if finding.confidence == Confidence.LOW else fact


def _first_fact(message: str) -> str:
    """A message up to its first semicolon or full stop; of a long one up to its colon."""
    fact = message.split("; ")[0].split(". ")[0]
    return fact.split(": ")[0] if len(fact) > LONG else fact


def _recorded(evidence: Evidence) -> str:
    """How often the score that the kernel recorded was above the threshold."""
    recorded = _steps(evidence)
    steps = recorded["score"]
    if steps.is_empty():
        return ""
    above = _share_above(steps)
    if not (steps > 0).any():
        return "the kernel's score is 0 throughout: no fallback acts"
    if above == 0:
        most = f"{float(steps.max()):.1f}".removesuffix(".0")  # type: ignore[arg-type]
        return f"the kernel's score never exceeds {most} (threshold 8)"
    return f"the kernel's score is above 8 in {share(above)} of its steps{_of_bug(recorded)}"


def _steps(evidence: Evidence) -> pl.DataFrame:
    """Steps with a recorded score, less those of flows too short to reach 8 if there are others."""
    recorded = evidence.detector.filter(
        (pl.col("origin") == "kernel") & pl.col("score").is_not_null()
    )
    long = recorded.filter(pl.len().over(subjects.DIRECTION) >= MIN_STEPS)
    return recorded if long.is_empty() else long


def _intended(evidence: Evidence) -> bool:
    """Whether a fallback is meant to act behind the bottleneck of each flow, and does.

    With the scaling bug the score is high behind any AQM: that with correct thresholds counts.
    """
    score = pl.coalesce("score_fixed", "score")
    above = (score > SCALABLE_THRESHOLD).mean().alias("above")
    high = _steps(evidence).group_by(subjects.DIRECTION).agg(above)
    places = high.join(subjects.bottlenecks(evidence), on=subjects.DIRECTION, how="left")
    late = (pl.col("kind") != "per-flow") | (pl.col("marking_delay_us") >= DEPTH_US)
    shown = pl.col("confidence") >= subjects.LIKELY_CONFIDENCE
    suited = pl.col("kind").is_in(SUITED) & late & shown & (pl.col("above") >= MOST)
    return bool(places.select(suited.fill_null(False).all()).item())


def _of_bug(recorded: pl.DataFrame) -> str:
    """` (62 % with correct thresholds)`, of the steps that were replayed."""
    replayed = recorded.drop_nulls("score_fixed")
    fixed = _share_above(replayed["score_fixed"])
    adds = _share_above(replayed["score"]) - fixed >= BUG_ADDS
    return f" ({share(fixed)} with correct thresholds)" if adds else ""


def _share_above(steps: pl.Series) -> float:
    return float((steps > SCALABLE_THRESHOLD).mean() or 0.0)  # type: ignore[arg-type]


def _flows(flows: Sequence[int]) -> str:
    """`flow 0`, `flows 0, 1 and 4`, `12 flows`."""
    known = sorted(set(flows))
    if len(known) > NAMED:
        return count(len(known), "flow")
    if len(known) == 1:
        return f"flow {known[0]}"
    return f"flows {', '.join(map(str, known[:-1]))} and {known[-1]}"


def _sentence(*parts: str) -> str:
    """Clauses as one sentence with a capital letter and a full stop."""
    text = "; ".join(part for part in parts if part)
    return text[0].upper() + text[1:].rstrip(".") + "." if text else ""
