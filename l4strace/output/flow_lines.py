"""The table of flows as text, shared by `diagnose` and `flows`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import polars as pl

from l4strace.derive import marked
from l4strace.derive.vantage import nearest
from l4strace.evidence import Capture
from l4strace.model import Finding, Severity
from l4strace.output.columns import fitting
from l4strace.wording import vantages
from l4strace.wording.names import ends, negotiated
from l4strace.wording.quantities import quantity, share
from l4strace.wording.wrap import WIDTH

HEADS = ("flow", "from", "to", "cc", "ECN", "sends", "DSCP", "bytes", "CE", "retx", "RTT")
NUMBERS = ("bytes", "CE", "retx", "RTT")
"""Right-aligned."""
UNKNOWN = "-"
PLAIN = {"cc": (UNKNOWN,), "DSCP": (UNKNOWN, "0")}
"""Columns that are left out where each line has one of these."""


def that_matter(capture: Capture, findings: Sequence[Finding], most: int) -> list[int]:
    """Numbers of at most ``most`` flows: those with a warning, then those that carried most."""
    accused = [f.flow for f in findings if f.flow is not None and f.severity >= Severity.WARNING]
    carried = capture.directions.group_by("flow").agg(pl.col("payload_bytes").max())
    largest = carried.sort("payload_bytes", "flow", descending=[True, False])["flow"]
    known = capture.flows["flow"].unique(maintain_order=True)
    # A kernel log alone has flows without directions.
    first = dict.fromkeys([*accused, *largest.head(most), *known.head(most)])
    there = set(known.filter(known.is_in(list(first))))
    return sorted(islice((flow for flow in first if flow in there), most))


def rows(capture: Capture, shown: Sequence[int] | None = None) -> list[tuple[str, ...]]:
    """One line per direction that carries data, of the flows in ``shown`` or of all.

    A flow without data gets one line, and so does one that only a kernel log knows.
    Numbers are those of the capture nearest to the sender; CE is the most that any capture saw.
    """
    if shown is None:
        shown = capture.flows["flow"].unique(maintain_order=True).to_list()
    # Rows become dicts only where they are shown: a capture may hold many thousand flows.
    wanted = pl.col("flow").is_in(shown)
    flows: dict[int, dict[int, dict[str, Any]]] = {}
    for row in capture.flows.filter(wanted).iter_rows(named=True):
        flows.setdefault(row["flow"], {})[row["source"]] = row
    seen: dict[tuple[int, bool], list[dict[str, Any]]] = {}
    directions = capture.directions.filter(wanted).with_columns(marked_share=marked.share())
    for row in directions.iter_rows(named=True):
        seen.setdefault((row["flow"], row["forward"]), []).append(row)
    near = {
        (flow, forward): (source, far)
        for source, flow, forward, far in nearest(capture).filter(wanted).iter_rows()
    }
    lines = []
    for flow in shown:
        both = [seen.get((flow, forward), []) for forward in (True, False)]
        lines += [
            _line(flows[flow], views, near, _echoed(seen, flow, not views[0]["forward"]))
            for views in _worth_a_line(both)
        ] or [_unseen(flows[flow])]
    return lines


def table(lines: list[tuple[str, ...]], width: int = WIDTH) -> Iterator[str]:
    """Lines under their heads; long addresses go on a line of their own.

    The congestion control has a column where it is known and there is room, the DSCP where it is
    not 0.
    """
    if not lines:
        return
    named = known([HEADS, *lines])
    yield from fitting([named, _without(named, "cc")], NUMBERS, width)


def known(lines: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Heads and lines, without the columns in which no line has more than PLAIN."""
    for head, plain in PLAIN.items():
        place = lines[0].index(head)
        if all(line[place] in plain for line in lines[1:]):
            lines = _without(lines, head)
    return lines


def _without(lines: list[tuple[str, ...]], head: str) -> list[tuple[str, ...]]:
    if head not in lines[0]:
        return lines
    place = lines[0].index(head)
    return [(*line[:place], *line[place + 1 :]) for line in lines]


def _worth_a_line(directions: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    seen = [views for views in directions if views]
    return [views for views in seen if any(row["payload_bytes"] for row in views)] or seen[:1]


def _line(
    views: dict[int, dict[str, Any]],
    directions: list[dict[str, Any]],
    ends_of: dict[tuple[int, bool], tuple[int, int | None]],
    echoed: bool,
) -> tuple[str, ...]:
    """One flow direction as all inputs saw it: rows of `flows` by source, rows of `directions`.

    ``echoed``: the other side sent ECE under classic ECN.
    """
    source, far = ends_of[directions[0]["flow"], directions[0]["forward"]]
    near = next(row for row in directions if row["source"] == source)
    arrived = next((row for row in directions if row["source"] == far), near)
    flow = views[source]
    place = vantages.of_direction(flow, near["forward"])
    # From data to ACK at the receiver is the host's own delay, no round trip.
    rtt = None if place == "receiver" else near["rtt_min_us"]
    # What was lost before the capture is seen once there, as if it were new.
    least = "+" if near["retransmits"] and place in ("receiver", "middle") else ""
    return (
        str(flow["flow"]),
        *ends(flow, near["forward"]),
        near["cc"] or UNKNOWN,
        negotiated(flow),
        _codepoint(near),
        _dscp(near["dscp"], arrived["dscp"]),
        quantity(near["payload_bytes"] or 0, "byte"),
        _ce(views, near, directions, echoed),
        UNKNOWN if near["retransmits"] is None else f"{near['retransmits']}{least}",
        quantity(rtt, "us") if rtt is not None else "-",
    )


def _unseen(views: dict[int, dict[str, Any]]) -> tuple[str, ...]:
    """A flow without packets."""
    flow = next(iter(views.values()))
    return (str(flow["flow"]), *ends(flow), UNKNOWN, negotiated(flow), *[UNKNOWN] * 6)


def _dscp(left: int | None, arrived: int | None) -> str:
    """`45`, or `45>0` where the path rewrites it."""
    if left is None:
        return UNKNOWN
    return str(left) if arrived in (None, left) else f"{left}>{arrived}"


def _codepoint(row: dict[str, Any]) -> str:
    """The codepoint that most packets carry, CE aside, unless all data is CE: that hides it."""
    named = {"ECT(1)": "ect1", "ECT(0)": "ect0", "Not-ECT": "not_ect"}
    if row["data_ce"] and row["data_ce"] == row["data_packets"]:
        return "CE"
    most = max(named, key=lambda name: row[named[name]] or 0)
    return most if row[named[most]] else "CE" if row["ce"] else "-"


def _echoed(seen: dict[tuple[int, bool], list[dict[str, Any]]], flow: int, forward: bool) -> bool:
    return any(row["ece_acks"] for row in seen.get((flow, forward), []))


def _ce(
    views: dict[int, dict[str, Any]],
    near: dict[str, Any],
    directions: list[dict[str, Any]],
    echoed: bool,
) -> str:
    """Share of CE. Classic ECN's ECE shows that packets were marked, not how many."""
    seen = max(_marked(row) for row in directions)
    counted = any(row["ce_fed_back_best"] is not None for row in directions)
    arrived = any(
        vantages.of_direction(views[row["source"]], row["forward"]) == "receiver"
        for row in directions
    )
    if seen or counted or arrived or _codepoint(near) == "Not-ECT":
        return share(seen)
    return "ECE" if echoed else "-"


def _marked(row: dict[str, Any]) -> float:
    """Share of CE: seen here, or as the receiver reported it."""
    if row["marked_share"] is None:
        return (row["ce"] or 0) / (row["packets"] or 1)
    return float(row["marked_share"])
