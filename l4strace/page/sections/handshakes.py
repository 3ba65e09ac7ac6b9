"""Handshake ladders: codepoint and ACE of SYN, SYN/ACK and final ACK, as sent and as arrived."""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from l4strace.page.case import Case
from l4strace.schema.words import CE, ECN_FIELD
from l4strace.wording.names import FANCY_ARROW, direction_name
from l4strace.wording.quantities import count

TITLE = "Handshakes"

MAX_FLOWS = 12
"""Flows with a ladder, those of findings first; `l4strace export flows` has all."""
UNSEEN = "not captured"
UNKNOWN = "unknown"
REFLECTED = {"SYN": "reflected by the SYN/ACK", "SYN/ACK": "reflected by the final ACK"}
"""Under AccECN the answer to a packet carries the codepoint that the packet arrived with (RFC 9768
section 3.1.1)."""
PACKETS = (
    ("SYN", "client", "syn_ecn", "syn_ace", "syn_arrived_ecn"),
    ("SYN/ACK", "server", "synack_ecn", "synack_ace", "synack_arrived_ecn"),
    ("final ACK", "client", None, "final_ack_ace", None),
)
"""Name, sender, and columns of `flows`: codepoint and ACE at the capture, codepoint reflected."""


class Rung(NamedTuple):
    """One packet; ``kind`` is `kept`, `marked`, `changed` or empty where the path is not shown."""

    packet: str
    arrow: str
    sent: str
    arrived: str
    path: str
    kind: str


class Ladder(NamedTuple):
    """The handshake of one flow and what it settled on."""

    flow: int
    name: str
    rungs: tuple[Rung, ...]
    mode: str
    reason: str

    @property
    def paths(self) -> bool:
        """Whether both ends of a packet are known, so that it shows the path."""
        return any(rung.path for rung in self.rungs)


class HandshakesSection(NamedTuple):
    """``left_out`` counts the flows without a ladder; ``absent`` is the reason for none at all."""

    ladders: tuple[Ladder, ...]
    left_out: str
    absent: str


class Sight(NamedTuple):
    """One packet at one place: its codepoint (null: not known) and its ACE."""

    ecn: int | None
    ace: int | None
    note: str = ""

    def __str__(self) -> str:
        parts = [] if self.ecn is None else [ECN_FIELD[self.ecn]]
        parts += [] if self.ace is None else [f"ACE {self.ace:03b}"]
        return ", ".join(parts) + (f" ({self.note})" if self.note else "")


MODES = {
    "accecn": "AccECN",
    "classic": "Classic ECN",
    "none": "No ECN",
    "unknown": "Unknown",
}


def build(case: Case) -> HandshakesSection:
    """Flows that findings name, then those that carried most."""
    table = case.evidence.flows.filter(
        pl.col("syn_ace").is_not_null() | pl.col("synack_ace").is_not_null()
    )
    if table.is_empty():
        return HandshakesSection((), "", "No TCP handshake was captured.")
    carried = case.evidence.directions.group_by("flow").agg(pl.col("payload_bytes").max())
    ranked = (
        table.select("flow")
        .unique()
        .join(carried, on="flow", how="left")
        .sort(
            ~pl.col("flow").is_in(list(case.accused)),
            -pl.col("payload_bytes").cast(pl.Int64).fill_null(0),
            "flow",
        )
    )
    chosen = sorted(ranked["flow"].head(MAX_FLOWS))
    rows = table.filter(pl.col("flow").is_in(chosen)).partition_by("flow", as_dict=True)
    more = ranked.height - len(chosen)
    left_out = f"{count(more, 'more handshake')} not shown (l4strace export flows)."
    ladders = tuple(_ladder(rows[flow,].to_dicts()) for flow in chosen)
    return HandshakesSection(ladders, left_out if more else "", "")


def _ladder(rows: list[dict[str, Any]]) -> Ladder:
    """The ladder of one flow from its rows of `flows`, one per capture."""
    decided = next((row for row in rows if row["mode"] != "unknown"), rows[0])
    return Ladder(
        decided["flow"],
        direction_name(decided, arrow=FANCY_ARROW),
        tuple(_rung(rows, *packet) for packet in PACKETS),
        MODES[decided["mode"] or "unknown"],
        decided["mode_reason"] or "",
    )


def _rung(
    rows: list[dict[str, Any]],
    packet: str,
    sender: str,
    ecn: str | None,
    ace: str,
    reflected: str | None,
) -> Rung:
    receiver = "server" if sender == "client" else "client"
    sights = {row["vantage"]: Sight(row[ecn] if ecn else None, row[ace]) for row in rows[::-1]}
    sights = {place: sight for place, sight in sights.items() if str(sight)}
    between = next((s for place, s in sights.items() if place not in (sender, receiver)), None)
    sent = sights.get(sender) or (between and Sight(between.ecn, between.ace, "seen in between"))
    arrived = sights.get(receiver)
    if arrived is None and reflected:
        # Without AccECN nothing is reflected: the column is null then.
        told = next((row[reflected] for row in rows if row[reflected] is not None), None)
        arrived = None if told is None else Sight(told, None, REFLECTED[packet])
    path, kind = _path(sent, arrived)
    return Rung(
        packet,
        "client \N{RIGHTWARDS ARROW} server"
        if sender == "client"
        else "server \N{RIGHTWARDS ARROW} client",
        str(sent) if sent else UNSEEN,
        str(arrived) if arrived else UNKNOWN,
        path,
        kind,
    )


def _path(sent: Sight | None, arrived: Sight | None) -> tuple[str, str]:
    """What lies between the two, and its kind."""
    if sent is None or arrived is None:
        return "", ""
    if None not in (sent.ace, arrived.ace) and sent.ace != arrived.ace:
        return "ACE changed on the path", "changed"
    if None in (sent.ecn, arrived.ecn):
        return ("unchanged", "kept") if arrived.ace is not None else ("", "")
    if sent.ecn == arrived.ecn:
        return "unchanged", "kept"
    if arrived.ecn == CE and sent.ecn != 0:
        return "marked CE on the path", "marked"
    return "codepoint changed on the path", "changed"
