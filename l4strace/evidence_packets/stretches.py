"""The packets around findings, for the packet chart: from one more pass, which ends with them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import NamedTuple

import polars as pl

from l4strace.evidence import Capture, over_udp, traffic
from l4strace.evidence_packets.wanted import Lookup
from l4strace.ingest import datagrams
from l4strace.ingest import packets as stream
from l4strace.model import Analysis, Finding, ProofPacket, Stretch

MOST_STRETCHES = 10
"""Stretches that a page carries, those of the worst findings."""
DATA_PACKETS = 800
"""Data packets of a stretch: 2 s at 5 Mbit/s, 10 ms at 1 Gbit/s."""
LEAD = 0.25
"""Part of them that lies before the finding's moment."""
MOST_ROWS = 2_400
"""Packets of a stretch, ACKs included; with `MOST_STRETCHES` some 0.4 MB of the page."""
COLUMNS = (
    *("frame", "ts_ns", "flow", "forward", "seq", "ack", "ack_raw", "payload_len"),
    *("ip_ecn", "tcp_flags", "window_bytes", "seen", "sack"),
)
"""Columns of `packets` that the chart draws or names."""


Place = tuple[int, int]
"""A capture and a flow in it."""


class Moment(NamedTuple):
    """When a finding's direction shows it, in the capture whose packets prove it."""

    place: int
    source: int
    flow: int
    forward: bool
    ts_ns: int


def of_findings(
    capture: Capture,
    analysis: Analysis,
    lookups: Sequence[Lookup],
    packets: Mapping[int, Sequence[ProofPacket]],
) -> tuple[Stretch, ...]:
    """Stretches around findings: those whose ``packets`` were found, and those on flows over UDP.

    Findings close by share one.
    """
    of_udp = _of_datagrams(capture, analysis, lookups)
    planned: list[Stretch] = []
    for moment in sorted([*_of_packets(capture, analysis, packets), *of_udp]):
        at = next((i for i, one in enumerate(planned) if _holds(one, moment)), None)
        if at is not None:
            one = planned[at]
            planned[at] = one._replace(moments={**one.moments, moment.place: moment.ts_ns})
        elif len(planned) < MOST_STRETCHES and (found := _planned(capture, moment)) is not None:
            planned.append(found)
    return tuple(filled(capture, planned, MOST_ROWS, _last(packets)))


def _last(packets: Mapping[int, Sequence[ProofPacket]]) -> dict[Place, int]:
    """The last frame of each flow that proves something: around each lies a stretch."""
    last: dict[Place, int] = {}
    for one in chain.from_iterable(packets.values()):
        at = one.source, one.flow
        last[at] = max(one.frame, last.get(at, 0))
    return last


def _of_packets(
    capture: Capture, analysis: Analysis, packets: Mapping[int, Sequence[ProofPacket]]
) -> Iterator[Moment]:
    """Findings on TCP, where the first packet that they name passed, else where they begin."""
    for place, found in packets.items():
        finding = analysis.findings[place]
        first = next((packet for packet in found if packet.named), None)
        flow = finding.flow if finding.flow is not None else (first or found[0]).flow
        if flow is None:
            continue
        forward = _way(capture, finding, found[0].source, flow)
        begin = finding.span_ns[0] if finding.span_ns else found[0].ts_ns
        yield Moment(place, found[0].source, flow, forward, first.ts_ns if first else begin)


def _of_datagrams(
    capture: Capture, analysis: Analysis, lookups: Sequence[Lookup]
) -> Iterator[Moment]:
    """Findings on flows over UDP likewise, and where neither is known at the first mark."""
    over = set(over_udp(capture)["flow"])
    for source in sorted({one.source for one in lookups}):
        mine = [
            (one, one.flow)
            for one in lookups
            if one.source == source and one.flow is not None and one.flow in over
        ]
        first = {min(one.frames) for one, _ in mine if one.frames}
        passed = datagrams.moments(capture, source, {flow for _, flow in mine}, first)
        for one, flow in mine:
            forward = _way(capture, analysis.findings[one.place], source, flow)
            named = passed.get(min(one.frames)) if one.frames else None
            begin = one.span_ns[0] if one.span_ns else _first_mark(capture, source, flow, forward)
            ns = begin if named is None else named
            if ns is not None:
                yield Moment(one.place, source, flow, forward, ns)


def _first_mark(capture: Capture, source: int, flow: int, forward: bool) -> int | None:
    """When the direction showed its first mark, or else its first packet."""
    here = traffic(capture).directions.filter(source=source, flow=flow, forward=forward)
    moments = pl.coalesce("first_ce_ns", "first_ns")
    return here.select(moments).item() if here.height == 1 else None


def _way(capture: Capture, finding: Finding, source: int, flow: int) -> bool:
    """The direction that a finding is about: as it states, or the one that carries more."""
    if finding.forward is not None:
        return finding.forward
    rows = traffic(capture).directions.filter(source=source, flow=flow).sort("payload_bytes")
    return bool(rows["forward"][-1]) if rows.height else True


def _holds(stretch: Stretch, moment: Moment) -> bool:
    here = (stretch.source, stretch.flow, stretch.forward)
    return here == moment[1:4] and stretch.start_ns <= moment.ts_ns <= stretch.end_ns


def _planned(capture: Capture, moment: Moment) -> Stretch | None:
    """The time that `DATA_PACKETS` of the direction take around the moment; null without data."""
    mine = {"source": moment.source, "flow": moment.flow, "forward": moment.forward}
    known = [
        table.filter(**mine).select("start_ns", "end_ns", "sent_packets")
        for table in (capture.rounds, capture.udp_rounds)
    ]
    rounds = pl.concat(known).sort("start_ns")
    if rounds.is_empty():
        return None
    # Of encrypted traffic the rounds are slots of a clock, which may begin before its first packet.
    first_ns = over_udp(capture).filter(source=moment.source, flow=moment.flow)["first_ns"].min()
    # Counted from there: a float holds no time of today to the nanosecond.
    begin = max(rounds["start_ns"][0], first_ns or 0)
    times, sent = [0], [0.0]
    for end_ns, count in rounds.select("end_ns", "sent_packets").iter_rows():
        times.append(max(end_ns - begin, times[-1] + 1))
        sent.append(sent[-1] + count + 1e-6)
    here = _between(moment.ts_ns - begin, times, sent)
    start = begin + round(_between(here - LEAD * DATA_PACKETS, sent, times))
    end = begin + round(_between(here + (1 - LEAD) * DATA_PACKETS, sent, times))
    # A handshake, or the ACK of the last packet, lies outside of all rounds.
    span = min(start, moment.ts_ns), max(end, moment.ts_ns)
    moments = {moment.place: moment.ts_ns}
    return Stretch(moment.source, moment.flow, moment.forward, *span, moments)


def _between(x: float, xs: Sequence[float], ys: Sequence[float]) -> float:
    """The value at ``x`` of the line through the points, which rise."""
    at = min(max(bisect_right(xs, x), 1), len(xs) - 1)
    share = (x - xs[at - 1]) / (xs[at] - xs[at - 1])
    return ys[at - 1] + min(max(share, 0.0), 1.0) * (ys[at] - ys[at - 1])


def filled(
    capture: Capture,
    planned: Sequence[Stretch],
    most: int,
    ends_behind: Mapping[Place, int] | None = None,
) -> Iterator[Stretch]:
    """``planned`` with their packets, at most so many of each. Raises InputError.

    ``ends_behind`` has the frame of a flow from which on its time is trusted to go on, if any.
    """
    over = set(over_udp(capture)["flow"])
    of_udp = _of_udp(capture, [one for one in planned if one.flow in over], most)
    tcp = [one for one in planned if one.flow not in over]
    of_tcp = _of_tcp(capture, tcp, most, ends_behind or {})
    for one in planned:
        yield next(of_udp if one.flow in over else of_tcp)


def _of_udp(capture: Capture, planned: Sequence[Stretch], most: int) -> Iterator[Stretch]:
    rows: dict[int, Iterator[pl.DataFrame]] = {}
    for source in sorted({one.source for one in planned}):
        mine = [one for one in planned if one.source == source]
        spans = [datagrams.Span(one.flow, one.start_ns, one.end_ns) for one in mine]
        rows[source] = iter(datagrams.within(capture, source, spans, most))
    for one in planned:
        yield one._replace(packets=next(rows[one.source]))


def _of_tcp(
    capture: Capture, planned: Sequence[Stretch], most: int, ends_behind: Mapping[Place, int]
) -> Iterator[Stretch]:
    rows: list[list[pl.DataFrame]] = [[] for _ in planned]
    for source in sorted({one.source for one in planned}):
        mine = [(one, rows[at]) for at, one in enumerate(planned) if one.source == source]
        wanted = [
            stream.Stretch(
                frozenset({one.flow}),
                (one.start_ns, one.end_ns),
                ends_behind.get((source, one.flow)),
            )
            for one, _ in mine
        ]
        for frame in stream.of_source(capture, source, columns=COLUMNS, stretches=wanted):
            if frame.is_empty() and all(held for _, held in mine):
                continue
            for one, held in mine:
                within = pl.col("ts_ns").is_between(one.start_ns, one.end_ns)
                left = most - sum(part.height for part in held)
                held.append(frame.filter(within, flow=one.flow).head(left))
    for one, held in zip(planned, rows, strict=True):
        yield one._replace(packets=pl.concat(held) if held else None)
