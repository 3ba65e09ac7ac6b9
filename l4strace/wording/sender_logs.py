"""The log of a user-space sender in one sentence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from l4strace.wording.quantities import count, quantity, share

COUNTED = {"delivered_ect1": "ECT(1)", "delivered_ect0": "ECT(0)", "delivered_ce": "CE"}


def named(row: Mapping[str, Any]) -> str:
    """The sentence with flow and file before it; empty where the log has no number."""
    said = sentence(row)
    return f"Flow {row['flow']}, log {PurePath(row['path']).name}: {said}." if said else ""


def sentence(row: Mapping[str, Any]) -> str:
    """Clauses about one row of `derive.senders.sender_logs`; empty where the log has no number."""
    return "; ".join([*_state(row), *_feedback(row), *_validation(row)])


def _state(row: Mapping[str, Any]) -> Iterator[str]:
    if row["window"] is not None:
        yield f"window {count(round(row['window']), 'packet')} (median)"
    if row["rtt_us"] is not None:
        least = f", least {quantity(row['least_us'], 'us')}" if row["least_us"] else ""
        yield f"RTT {quantity(row['rtt_us'], 'us')} (median{least})"
    if row["alpha"] is not None:
        yield f"alpha {row['alpha']:.2f} at the end"


def _feedback(row: Mapping[str, Any]) -> Iterator[str]:
    """What the peer's feedback counts, of packets that were delivered."""
    known = {label: row[name] for name, label in COUNTED.items() if row[name] is not None}
    parts = [f"{n:,} {label}" for label, n in known.items() if n or label == "CE"]
    if parts and row["delivered"]:
        marked = row["delivered_ce"]
        part = f" ({share(marked / row['delivered'])} marked)" if marked else ""
        yield f"counted: {', '.join(parts)} of {count(row['delivered'], 'packet')}{part}"
    elif row["delivered"]:
        yield f"{count(row['delivered'], 'packet')} delivered, no codepoint of them counted"
    if row["lost_packets"]:
        yield f"{count(row['lost_packets'], 'packet')} declared lost"


def _validation(row: Mapping[str, Any]) -> Iterator[str]:
    if row["ecn_state"] is not None:
        why = f' ("{row["ecn_trigger"]}")' if row["ecn_trigger"] else ""
        yield f"ECN validation: {row['ecn_state']}{why}"
