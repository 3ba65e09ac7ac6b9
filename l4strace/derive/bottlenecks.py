"""What limits each flow direction, from packets alone.

What the kernel believes must not feed this table (the misfire verdict is the disagreement of the
two), so nothing here reads `capture.kernel`. The features: at which queue delay marks set in, what
noise can add to it, how many marks come per round, and whether the other flows of the path share
that delay and those marks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import polars as pl

from l4strace.derive import (
    agreement,
    border,
    company,
    guard,
    low_marks,
    marked,
    phases,
    queue_features,
    sharing,
    unmarked,
)
from l4strace.derive.company import FRAME_BYTES
from l4strace.derive.low_marks import MIN_MARKS
from l4strace.derive.unmarked import (
    ALONE,
    NO_VERDICT,
    OWN_MARKS,
    SEEN_BY_OTHERS,
    Features,
    Verdict,
)
from l4strace.evidence import Capture
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY, PATH
from l4strace.schema.words import CLASSIC_OR_PER_FLOW

STEP_SHARE = 0.2
"""Marked share of a marked round from which the marking counts as on/off rather than a ramp.
By eye: a step marks every packet above it, the coupled ramp a few percent."""

START_PACKETS = 10
"""ECT(1) packets of a direction that a second queue would have shown to: an initial window
(RFC 6928). Fewer are a control connection."""

MOST_PHASES = 8
"""Phases of a path that are asked, those with most marks: a link can change all day. By eye."""

ONE_OF_TWO = ("classic", "per-flow", "shallow", CLASSIC_OR_PER_FLOW)
"""What the classic queue of a DualPI2 may look like to the flows in it."""


def table(capture: Capture) -> pl.DataFrame:
    """One row per flow direction with enough data, in the schema of `bottlenecks`."""
    schema = TABLES["bottlenecks"]
    if capture.rounds.is_empty():
        return schema.empty()
    rounds = queue_features.rounds(capture)
    features = queue_features.features(capture, rounds)
    others = queue_features.few_rounds(capture, features).to_dicts()
    of_path = phases.table(capture)
    changes = Counter(zip(of_path["source"], of_path["path"], strict=True))
    beside = set(company.directions(capture).filter(_ECT1).select("source", "path").unique().rows())
    known = [row | {"phases": changes[_at(row)]} for row in features.iter_rows(named=True)]
    judged = guard.each(lambda row: _row(row, _at(row) in beside), known, _failed)
    rows = [*judged, *(_too_short(row) for row in others)]
    asked = {_at(row) for row in rows if agreement.leaves_open(row) and changes[_at(row)] > 1}
    by_phase = _by_phase(
        capture, rounds, [p for p in of_path.to_dicts() if _at(p) in asked], beside
    )
    rows = agreement.agreed([agreement.within(row, by_phase[_flow(row)]) for row in rows])
    return schema.conform(pl.DataFrame(rows, infer_schema_length=None)) if rows else schema.empty()


def _by_phase(
    capture: Capture,
    rounds: pl.DataFrame,
    parts: list[dict[str, Any]],
    beside: set[tuple[int, str]],
) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Verdicts on each direction in those ``parts`` of its path, the one with most marks first.

    A bottleneck that moves, or changes its rate, shows two kinds of queue in one average.
    """
    paths: dict[tuple[int, str], list[dict[str, Any]]] = defaultdict(list)
    for part in sorted(parts, key=lambda part: -part["marks"]):
        if part["marks"]:
            paths[_at(part)].append(part)
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for place in range(MOST_PHASES):
        now = [(*at, ranked[place]["phase"]) for at, ranked in paths.items() if len(ranked) > place]
        for row in _in_one_phase(capture, rounds, now, beside):
            found[_flow(row)].append(row)
    return found


def _in_one_phase(
    capture: Capture,
    rounds: pl.DataFrame,
    now: list[tuple[int, str, int]],
    beside: set[tuple[int, str]],
) -> list[dict[str, Any]]:
    """Verdicts on the directions of paths, each in one phase (source, path, phase)."""
    if not now:
        return []
    chosen = pl.DataFrame(now, rounds.select(*PATH, "phase").schema, orient="row")
    part = rounds.join(chosen, on=[*PATH, "phase"], how="semi", maintain_order="left")
    features = queue_features.features(capture, part).iter_rows(named=True)
    alone = [row | {"phases": 1} for row in features]
    judged = guard.each(lambda row: _row(row, _at(row) in beside), alone, _failed)
    return agreement.agreed(judged)


_ECT1 = (pl.col("marked_as") == "ect1") & (pl.col("data_ect1") >= START_PACKETS)


def _at(row: Features) -> tuple[int, str]:
    return row["source"], row["path"]


def _flow(row: Features) -> tuple[Any, ...]:
    return tuple(row[name] for name in KEY)


def _row(f: Features, ect1: bool = False) -> dict[str, Any]:
    """The verdict on one direction; ``ect1``: whether ECT(1) flows travelled its path."""
    rate = f["rate_bps"] or None
    f["serialisation_us"] = FRAME_BYTES * 8 / rate * 1e6 if rate else None
    known = f["hides_us"] if f["hides_owd_us"] is None else f["hides_owd_us"]
    f["noise_us"] = known or 0.0
    if f["marked_owd_us"] is not None:
        # The one-way delay knows neither the ACK path nor ACKs that wait for a second packet.
        f["marking_delay_us"], f["marking_median_us"] = (
            f["marked_owd_us"],
            f["marked_owd_median_us"],
        )
    kind, confidence, reason = _verdict(f)
    if ect1 and not _with_ect1(f) and kind in ONE_OF_TWO and confidence < SEEN_BY_OTHERS:
        kind, confidence, reason = border.unknown(
            f"Cannot be determined: {border.lower(border.at(f))}; the ECT(1) flows are too short "
            "to show whether they have a queue of their own."
        )
    classic = kind in ("classic", CLASSIC_OR_PER_FLOW)
    if classic and not _with_ect1(f) and confidence > ALONE:
        confidence = ALONE
        reason += " No ECT(1) packet shows whether it has a second queue."
    return f | {
        "kind": kind,
        "confidence": confidence,
        "reason": reason,
        "marking": _marking(f),
        "loss_delay_us": f["lost_us"],
        "idle_loss": unmarked.idle_loss(f),
        "ce_share": min(1.0, f["marks"] / f["acked"]) if f["acked"] else None,
    }


def _too_short(row: Features) -> dict[str, Any]:
    """A direction that only the other flows of its path can identify."""
    reason = f"Cannot be determined: {row['rounds']} round trips are too few."
    return row | {
        "kind": "unknown",
        "confidence": NO_VERDICT,
        "reason": reason,
        "marking_delay_us": None,
        "ce_share": min(1.0, row["marks"] / row["acked"]),
    }


def _failed(row: Features) -> dict[str, Any]:
    """In place of a direction whose verdict odd data broke."""
    return row | {
        "kind": "unknown",
        "confidence": NO_VERDICT,
        "reason": "Cannot be determined: a fault of l4strace; please report this.",
        "marking_delay_us": None,
        "ce_share": min(1.0, row["marks"] / row["acked"]) if row["acked"] else None,
    }


def _marking(f: Features) -> str | None:
    if f["marks"] < MIN_MARKS or f["classic_feedback"] or not f["acked_per_marked_round"]:
        return None
    return "step" if f["marks_per_round"] / f["acked_per_marked_round"] >= STEP_SHARE else "ramp"


def _verdict(f: Features) -> Verdict:
    kind, confidence, reason = _shown(f)
    if kind == "l4s" and confidence <= OWN_MARKS and border.as_often(f):
        return border.unknown(
            f"Cannot be determined: {border.lower(reason[:-1])}, but ECT(0) packets are marked in "
            "about as many moments as ECT(1) packets."
        )
    return kind, confidence, reason


def _shown(f: Features) -> Verdict:
    if f["deaf"]:
        reason = "The ACE counter is mangled, so marks cannot be seen round by round."
        return "unknown", NO_VERDICT, reason
    if f["cleared"] and f["classic_feedback"] and not f["marks"]:
        # What zeroes ACE, zeroes ECE: they are bits of one field (RFC 9768 section 3.1.1).
        return "unknown", NO_VERDICT, "The path clears the feedback, so no mark can be seen."
    seen = marked.verdict(f)
    if seen is not None:
        return seen
    if f["erased"]:
        return unmarked.erased(f)
    beside = low_marks.beside_l4s(f)
    if beside is not None:
        return beside
    if f["marked_as"] == "not_ect":
        compared = (sharing.compared(f, mates) for mates in ("classic", "scalable"))
        return unmarked.not_ect(f, *compared)
    return unmarked.verdict(f)


def _with_ect1(f: Features) -> bool:
    """ECT(1) packets went along: without them, a dual queue is a classic AQM."""
    return f["marked_as"] == "ect1" or sharing.compared(f, "scalable")
