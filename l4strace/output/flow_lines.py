"""The table of flows as text, shared by `diagnose` and `flows`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from l4strace.console import printable
from l4strace.evidence import Capture
from l4strace.units import digits, quantity, share

HEADS = ("flow", "from", "to", "ECN", "sends", "MB", "CE", "retx", "RTT")
LEFT = 5
"""Columns that are left-aligned; the rest are numbers."""
ADDRESS_WIDTH = 21
"""`255.255.255.255:65535`; longer ones lose their middle."""


def rows(capture: Capture, limit: int | None = None) -> list[tuple[str, ...]]:
    """One line per flow direction that carries data; a flow without data gets one line."""
    ways: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in capture.directions.iter_rows(named=True):
        ways.setdefault((row["source"], row["flow"]), []).append(row)
    return [
        _line(flow, way)
        for flow in capture.flows.head(limit or capture.flows.height).iter_rows(named=True)
        for way in _worth_a_line(ways.get((flow["source"], flow["flow"]), []))
    ]


def table(lines: list[tuple[str, ...]]) -> Iterator[str]:
    """Lines under their heads, columns as wide as their content."""
    everything = [HEADS, *lines]
    widths = [max(len(line[i]) for line in everything) for i in range(len(HEADS))]
    for line in everything if lines else []:
        cells = (
            cell.ljust(width) if i < LEFT else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        yield printable(" ".join(cells).rstrip())


def _worth_a_line(ways: list[dict[str, Any]]) -> list[dict[str, Any]]:
    carrying = [way for way in ways if way["payload_bytes"]]
    return carrying or ways[:1]


def _line(flow: dict[str, Any], way: dict[str, Any]) -> tuple[str, ...]:
    ends = [_address(flow[end], flow[f"{end}_port"]) for end in ("client", "server")]
    if not way["forward"]:
        ends.reverse()
    rtt = way["rtt_min_us"]
    return (
        str(flow["flow"]),
        *ends,
        flow["mode"] or "unknown",
        _codepoint(way),
        digits((way["payload_bytes"] or 0) / 1e6),
        _marked(way),
        str(way["retransmits"] or 0),
        quantity(rtt, "us") if rtt is not None else "-",
    )


def _address(address: str, port: int) -> str:
    text = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    if len(text) <= ADDRESS_WIDTH:
        return text
    tail = text[-(ADDRESS_WIDTH // 2) :]
    return f"{text[: ADDRESS_WIDTH - len(tail) - 2]}..{tail}"


def _codepoint(way: dict[str, Any]) -> str:
    """The codepoint that most packets carry, CE aside."""
    named = {"ECT(1)": "ect1", "ECT(0)": "ect0", "Not-ECT": "not_ect"}
    return max(named, key=lambda name: way[named[name]] or 0)


def _marked(way: dict[str, Any]) -> str:
    """Share of CE: seen here, else as the receiver reported it."""
    packets = way["data_packets"] or way["packets"] or 0
    marks = way["ce"] or way["ce_fed_back_best"] or 0
    return share(marks / packets) if packets else "-"
