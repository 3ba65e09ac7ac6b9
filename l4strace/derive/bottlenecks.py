"""What limits each flow direction, from packets alone.

What the kernel believes must not feed this table (the misfire verdict is the disagreement of the
two), so nothing here reads `capture.kernel`. The features: at which queue delay marks set in, how
many come per round, and whether the other flows of the path share that delay and those marks.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.derive import company, queue_delay, queue_features
from l4strace.evidence import Capture
from l4strace.schema import TABLES
from l4strace.wording import quantities

L4S_MARK_US = 2000.0
"""DualPI2 marks at a 1 ms step or by the coupled ramp below it; CoDel from
5 ms, PIE from 15 ms. Prague's own detector takes 2000 us for the border (D0_LG)."""

STEP_SHARE = 0.2
"""Marked share of a marked round from which the marking counts as on/off rather than a ramp.
By eye: a step marks every packet above it, the coupled ramp a few percent."""

EVERY_PACKET = 0.95
"""Marked share from which marks carry no information (rule L4S403). By eye."""

MIN_MARKS = 3
"""Fewer marks have no typical delay. By eye."""

FRAME_BYTES = 1514
"""A full Ethernet frame without FCS: 14 + 1500 bytes."""

MIN_SLOTS = 10
"""Slots shared with another flow from which the two are compared: with 10, a correlation beyond
0.63 is chance in 5 % of cases, with 4 one beyond 0.95."""

SELF_LIMITED = 0.5
"""Share of rounds limited by application or receive window from which the path is not the limit:
most of them."""

DEEP_QUEUE = 5
"""Multiple of QUEUE_US that stands for a FIFO without a mark or a loss. By eye."""

ALSO_MARKED = 2
"""Multiple of the L4S threshold up to which classic packets share the marking queue. By eye."""

ISOLATED_RATIO, ISOLATED_US = 3.0, 1000.0
"""A classic queue three times longer plus 1 ms is not the queue that the L4S flow waits in.
By eye, between DualPI2's targets of 15 ms and 1 ms (RFC 9332 appendix A.1)."""

SAME_QUEUE_CORR = 0.5
OWN_QUEUE_CORR = 0.2
"""Queue delay from which a queue stands, where nothing is marked: as L4S_MARK_US. By eye."""

QUEUE_US = 2000.0
"""Queue delay from which a queue stands, where nothing is marked: L4S_MARK_US again. By eye."""

TWO_QUEUES = 0.95
"""Confidence: marks at an L4S threshold while classic flows wait in a queue of their own."""
SEEN_BY_OTHERS = 0.9
"""Confidence: another flow of the path, or a loss, shows the same queue."""
NOTHING_THERE = 0.8
"""Confidence: no marks, no losses and no queue delay."""
OWN_MARKS = 0.7
"""Confidence: the flow's own packets fit one kind, and no other flow contradicts it."""
PARTLY = 0.6
"""Confidence: what the other flows of the path saw fits only partly."""
ALONE = 0.5
"""Confidence: one flow that other kinds of queue would explain as well."""
UNKNOWN = 0.0
"""Confidences are ranks by eye, not frequencies. Rules that accuse a sender ask for 0.8
(`rules.support.subjects.ISOLATED_CONFIDENCE`)."""

Verdict = tuple[str, float, str]


def table(capture: Capture) -> pl.DataFrame:
    """One row per flow direction with enough data, in the schema of `bottlenecks`."""
    schema = TABLES["bottlenecks"]
    if capture.rounds.is_empty():
        return schema.empty()
    rounds = queue_delay.on_paths(capture)
    features = queue_features.table(company.steady(rounds), capture)
    rows = [_row(row) for row in features.iter_rows(named=True)]
    return schema.conform(pl.DataFrame(rows, infer_schema_length=None)) if rows else schema.empty()


def _row(f: dict[str, Any]) -> dict[str, Any]:
    rate = f["rate_bps"] or None
    f["serialisation_us"] = FRAME_BYTES * 8 / rate * 1e6 if rate else None
    f["mark_limit_us"] = L4S_MARK_US + (f["serialisation_us"] or 0.0)
    kind, confidence, reason = _verdict(f)
    return f | {
        "kind": kind,
        "confidence": confidence,
        "reason": reason,
        "marking": _marking(f),
        "ce_share": f["marks"] / f["acked"] if f["acked"] else None,
    }


def _marking(f: dict[str, Any]) -> str | None:
    if f["marks"] < MIN_MARKS or f["classic_feedback"] or not f["acked_per_marked_round"]:
        return None
    return "step" if f["marks_per_round"] / f["acked_per_marked_round"] >= STEP_SHARE else "ramp"


def _verdict(f: dict[str, Any]) -> Verdict:
    if f["deaf"]:
        return (
            "unknown",
            UNKNOWN,
            "The ACE counter is mangled, so marks cannot be seen round by round.",
        )
    if f["marks"] >= EVERY_PACKET * f["acked"] and f["queue_delay_us"] < L4S_MARK_US:
        return "unknown", UNKNOWN, "Every packet is CE, so the marks say nothing about a queue."
    if f["marks"] >= MIN_MARKS:
        if f["marking_delay_us"] <= f["mark_limit_us"]:
            return _shallow_marks(f)
        return _deep_marks(f)
    if f["erased"]:
        return (
            "unknown",
            UNKNOWN,
            "The path erases ECN codepoints, so no queue behind it could mark.",
        )
    if f["marked_as"] == "not_ect":
        return _not_markable(f)
    return _no_marks(f)


def _compared(f: dict[str, Any], company: str) -> bool:
    return (f[f"{company}_slots"] or 0) >= MIN_SLOTS


def _isolated(f: dict[str, Any], short: str, long: str) -> bool:
    """Queue delay `long` is far above queue delay `short`."""
    return bool(f[long] > ISOLATED_RATIO * f[short] + ISOLATED_US)


def _shallow_marks(f: dict[str, Any]) -> Verdict:
    at = f"Marks set in at {f['marking_delay_us'] / 1000:.2f} ms of queue"
    if f["marked_as"] != "ect1":
        return "shallow", OWN_MARKS, f"{at} for packets that are not ECT(1)."
    if not _compared(f, "classic"):
        return "l4s", OWN_MARKS, f"{at}; no classic flow shows how it treats others."
    other = f["classic_queue_us"] / 1000
    if _isolated(f, "classic_own_queue_us", "classic_queue_us"):
        reason = f"{at}, while classic flows wait {other:.1f} ms in a queue of their own."
        return "l4s", TWO_QUEUES, reason
    delay = f["classic_mark_delay_us"]
    if (
        f["classic_marks"] >= MIN_MARKS
        and delay is not None
        and delay <= ALSO_MARKED * f["mark_limit_us"]
    ):
        reason = f"{at} and classic flows are marked at {delay / 1000:.2f} ms too: one queue."
        return "shallow", SEEN_BY_OTHERS, reason
    return "l4s", PARTLY, f"{at}; classic flows wait {other:.1f} ms and are hardly marked."


def _deep_marks(f: dict[str, Any]) -> Verdict:
    at = f"Marks set in at {f['marking_delay_us'] / 1000:.1f} ms of queue"
    mates = [c for c in ("scalable", "classic") if _compared(f, c)]
    if not mates:
        return "classic", ALONE, f"{at}; a lone flow cannot show whether others share the queue."
    mate = mates[0]
    other = f[f"{mate}_queue_us"] / 1000
    if (
        mate == "scalable"
        and f["marked_as"] != "ect1"
        and _isolated(f, "scalable_queue_us", "scalable_own_queue_us")
    ):
        if f["scalable_marks"] >= MIN_MARKS and f["scalable_mark_delay_us"] <= f["mark_limit_us"]:
            return (
                "l4s",
                SEEN_BY_OTHERS,
                f"{at}, while ECT(1) flows are marked at {other:.2f} ms: two queues.",
            )
        return "per-flow", OWN_MARKS, f"{at}, while ECT(1) flows wait only {other:.2f} ms."
    correlation = f[f"{mate}_corr"] or 0.0
    if correlation >= SAME_QUEUE_CORR:
        reason = (
            f"{at} and the other flows wait as long at the same time "
            f"(correlation {correlation:.2f}): one queue."
        )
        return "classic", SEEN_BY_OTHERS, reason
    if correlation <= OWN_QUEUE_CORR:
        reason = f"{at} and the other flows' delay moves on its own ({correlation:.2f})."
        return "per-flow", PARTLY, reason
    return (
        "classic",
        PARTLY,
        f"{at}; the other flows' delay moves partly along ({correlation:.2f}).",
    )


def _not_markable(f: dict[str, Any]) -> Verdict:
    for mate in ("classic", "scalable"):
        if (
            _compared(f, mate)
            and f[f"{mate}_marks"] >= MIN_MARKS
            and (f[f"{mate}_corr"] or 0.0) >= SAME_QUEUE_CORR
            and f[f"{mate}_mark_delay_us"] > f["mark_limit_us"]
        ):
            reason = (
                "Not-ECT packets cannot be marked, but flows that share their queue delay are, "
                f"from {f[f'{mate}_mark_delay_us'] / 1000:.1f} ms."
            )
            return "classic", OWN_MARKS, reason
    if f["lost"] == 0 and f["queue_high_us"] < QUEUE_US:
        return "none", OWN_MARKS, "No loss and a flat RTT: nothing queues here."
    return (
        "unknown",
        UNKNOWN,
        "Not-ECT packets cannot be marked, so the queue cannot be identified.",
    )


def _no_marks(f: dict[str, Any]) -> Verdict:
    queue, high = f["queue_delay_us"], f["queue_high_us"]
    if f["lost"] > 0 and high >= QUEUE_US:
        reason = (
            f"{quantities.count(f['losses'], 'packet')} retransmitted and {queue / 1000:.1f} ms of "
            "queue, yet not one mark."
        )
        return "fifo", SEEN_BY_OTHERS, reason
    if f["lost"] == 0 and high < QUEUE_US + (f["serialisation_us"] or 0.0):
        return "none", NOTHING_THERE, "No marks, no loss and a flat RTT: nothing queues here."
    if f["self_limited"] >= SELF_LIMITED:
        return "none", PARTLY, "The application or the receive window holds the sender back."
    if high >= DEEP_QUEUE * QUEUE_US:
        return "fifo", ALONE, f"{queue / 1000:.1f} ms of queue without a mark or a loss."
    return "unknown", UNKNOWN, "Neither marks nor a standing queue."
