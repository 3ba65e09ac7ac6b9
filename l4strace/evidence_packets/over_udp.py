"""The datagrams behind findings: of those around the moment of a finding, which show it."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Sequence
from typing import Any

import polars as pl

from l4strace import evidence
from l4strace.evidence import Capture
from l4strace.evidence_packets import shows
from l4strace.evidence_packets.excerpt import UDP_HEADER
from l4strace.evidence_packets.search import PACKETS_AROUND
from l4strace.evidence_packets.wanted import Lookup
from l4strace.model import ProofPacket, Stretch
from l4strace.schema.words import CE

PLAIN_PACKETS = 3
"""Packets of the data where the finding names none, and none shows more than its codepoint."""
Ports = tuple[int, int]


def packets(
    capture: Capture, around: Sequence[Stretch], lookups: Sequence[Lookup]
) -> dict[int, tuple[ProofPacket, ...]]:
    """Packets by position of their finding, in the order of the capture; no empty entries."""
    named = {lookup.place: lookup.frames for lookup in lookups}
    ports = {
        (source, flow): (client, server)
        for source, flow, client, server in evidence.over_udp(capture)
        .select("source", "flow", "client_port", "server_port")
        .iter_rows()
    }
    found = {
        place: tuple(
            _packet(stretch, row, ports[stretch.source, stretch.flow])
            for row in _proving(stretch.packets, stretch, moment, named[place])
        )
        for stretch in around
        if (stretch.source, stretch.flow) in ports and stretch.packets is not None
        for place, moment in stretch.moments.items()
    }
    return {place: each for place, each in found.items() if each}


def _proving(
    packets: pl.DataFrame, stretch: Stretch, moment: int, frames: Collection[int]
) -> Iterable[dict[str, Any]]:
    """Datagrams that the finding names, later ones with marks or a new codepoint, else data."""
    before = pl.col("ip_ecn").shift(1).over("forward")
    rows = packets.with_columns(
        named=pl.col("frame").is_in(list(frames)), data=pl.col("forward") == stretch.forward
    ).with_columns(ecn_before=pl.when(pl.col("ip_ecn") != before).then(before))
    marked = (pl.col("ip_ecn") == CE) | (pl.col("ce") > 0)
    tells = (marked | pl.col("ecn_before").is_not_null()).fill_null(False)
    later = rows.filter((pl.col("ts_ns") >= moment) & ~pl.col("named"))
    found = pl.concat([rows.filter("named"), later.filter(tells).head(PACKETS_AROUND)])
    if found.is_empty():
        found = later.filter("data").head(PLAIN_PACKETS)
    return found.sort("frame").iter_rows(named=True)


def _packet(stretch: Stretch, row: dict[str, Any], ports: Ports) -> ProofPacket:
    length = UDP_HEADER + row["bytes"]
    return ProofPacket(
        source=stretch.source,
        frame=row["frame"],
        ts_ns=row["ts_ns"],
        flow=stretch.flow,
        forward=row["forward"],
        ip_ecn=row["ip_ecn"],
        tcp_flags=None,
        ace=None,
        counters=None,
        seq=None,
        ack=None,
        payload_bytes=row["bytes"],
        named=row["named"],
        shows=shows.of_datagram(row),
        offset=row["offset"],
        captured_bytes=row["captured_len"],
        wire_bytes=row["wire_len"],
        header=struct.pack(">HHH", *(ports if row["forward"] else ports[::-1]), length & 0xFFFF),
        number=row["number"],
        reported=row["reported"],
    )
