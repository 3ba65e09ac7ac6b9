"""The table of flows as text, shared by `diagnose` and `flows`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import polars as pl

from l4strace.console import printable
from l4strace.derive.vantage import nearest
from l4strace.evidence import Capture
from l4strace.model import Finding, Severity
from l4strace.wording.quantities import endpoint, quantity, share

HEADS = ("flow", "from", "to", "ECN", "sends", "bytes", "CE", "retx", "RTT")
NUMBERS = ("bytes", "CE", "retx", "RTT")
"""Right-aligned."""
WIDTH = 80


def that_matter(capture: Capture, findings: Sequence[Finding], most: int) -> list[int]:
    """At most so many flows, by number: those with a warning, then those that carried most."""
    accused = [f.flow for f in findings if f.flow is not None and f.severity >= Severity.WARNING]
    carried = capture.directions.group_by("flow").agg(pl.col("payload_bytes").max())
    largest = carried.sort("payload_bytes", "flow", descending=[True, False])["flow"]
    known = capture.flows["flow"].unique(maintain_order=True)
    # A kernel log alone has flows without directions.
    first = dict.fromkeys([*accused, *largest.head(most), *known.head(most)])
    return sorted(islice((flow for flow in first if flow in known), most))


def rows(capture: Capture, shown: Sequence[int] | None = None) -> list[tuple[str, ...]]:
    """One line per direction that carries data, of the flows in ``shown`` or of all.

    A flow without data gets one line, and so does one that only a kernel log knows.
    Of several captures the one nearest to the sender speaks, but for CE: the most that any saw.
    """
    if shown is None:
        shown = capture.flows["flow"].unique(maintain_order=True).to_list()
    # Rows become dicts only where they are shown: a capture may hold many thousand flows.
    wanted = pl.col("flow").is_in(shown)
    flows: dict[int, dict[int, dict[str, Any]]] = {}
    for row in capture.flows.filter(wanted).iter_rows(named=True):
        flows.setdefault(row["flow"], {})[row["source"]] = row
    ways: dict[tuple[int, bool], list[dict[str, Any]]] = {}
    for row in capture.directions.filter(wanted).iter_rows(named=True):
        ways.setdefault((row["flow"], row["forward"]), []).append(row)
    near = {
        (flow, forward): source
        for source, flow, forward, _ in nearest(capture).filter(wanted).iter_rows()
    }
    lines = []
    for flow in shown:
        worth = _worth_a_line([ways.get((flow, True), []), ways.get((flow, False), [])])
        lines += [_line(flows[flow], way, near) for way in worth] or [_unseen(flows[flow])]
    return lines


def table(lines: list[tuple[str, ...]]) -> Iterator[str]:
    """Lines under their heads; long addresses go on a line of their own."""
    if lines:
        flat = list(_columns([HEADS, *lines]))
        yield from flat if max(map(len, flat)) <= WIDTH else _stacked(lines)


def _columns(lines: list[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        cells = (
            cell.rjust(width) if head in NUMBERS else cell.ljust(width)
            for head, cell, width in zip(HEADS[-len(line) :], line, widths, strict=True)
        )
        yield printable(" ".join(cells).rstrip())


def _stacked(lines: list[tuple[str, ...]]) -> Iterator[str]:
    numbers = _columns([line[3:] for line in (HEADS, *lines)])
    yield f"      {next(numbers)}"
    for line, rest in zip(lines, numbers, strict=True):
        yield printable(f"{line[0]:<5} {line[1]} > {line[2]}")
        yield f"      {rest}"


def _worth_a_line(ways: list[list[dict[str, Any]]]) -> list[list[dict[str, Any]]]:
    seen = [way for way in ways if way]
    return [way for way in seen if any(row["payload_bytes"] for row in way)] or seen[:1]


def _line(
    views: dict[int, dict[str, Any]],
    ways: list[dict[str, Any]],
    near: dict[tuple[int, bool], int],
) -> tuple[str, ...]:
    """One flow direction as all inputs saw it."""
    source = near[ways[0]["flow"], ways[0]["forward"]]
    way = next(row for row in ways if row["source"] == source)
    flow = views[way["source"]]
    ends = [endpoint(flow[end], flow[f"{end}_port"]) for end in ("client", "server")]
    if not way["forward"]:
        ends.reverse()
    rtt = way["rtt_min_us"]
    return (
        str(flow["flow"]),
        *ends,
        flow["mode"] or "unknown",
        _codepoint(way),
        quantity(way["payload_bytes"] or 0, "byte"),
        share(max(_marked(row) for row in ways)),
        str(way["retransmits"] or 0),
        quantity(rtt, "us") if rtt is not None else "-",
    )


def _unseen(views: dict[int, dict[str, Any]]) -> tuple[str, ...]:
    """A flow without packets."""
    flow = next(iter(views.values()))
    ends = (endpoint(flow[end], flow[f"{end}_port"]) for end in ("client", "server"))
    return (str(flow["flow"]), *ends, flow["mode"] or "unknown", *["-"] * 5)


def _codepoint(way: dict[str, Any]) -> str:
    """The codepoint that most packets carry, CE aside."""
    named = {"ECT(1)": "ect1", "ECT(0)": "ect0", "Not-ECT": "not_ect"}
    return max(named, key=lambda name: way[named[name]] or 0)


def _marked(way: dict[str, Any]) -> float:
    """Share of CE: seen here, or as the receiver reported it."""
    packets = way["data_packets"] or way["packets"] or 1
    return min(1.0, max(way["ce"] or 0, way["ce_fed_back_best"] or 0) / packets)
