"""One pass over a capture that finds the packets of all its lookups, and stops when it has them."""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import polars as pl

from l4strace.core import _native
from l4strace.evidence import Capture
from l4strace.evidence_packets import shows
from l4strace.evidence_packets.wanted import Lookup
from l4strace.ingest import packets as stream
from l4strace.model import ProofPacket

PACKETS_AROUND = 8
"""Telling packets beside those that a finding names."""
PACKET_COLUMNS = (
    *("frame", "offset", "ts_ns", "captured_len", "wire_len", "flow", "forward", "ip_ecn"),
    *(
        "tcp_flags",
        "seq",
        "ack",
        "seq_raw",
        "ack_raw",
        "payload_len",
        "ace",
        "e0b",
        "ceb",
        "e1b",
        "sack",
    ),
)
"""Columns of `packets` that words and excerpt need."""
CHANGES = ("lookup", "ace_before", "ceb_before", "repeats")
"""What the search adds: which lookup wants the packet, and what changed against the packet before
it in the same direction. `ace_before` and `ceb_before` are null at the first; in the handshake ACE
is a code and no counter. `repeats`: all its bytes passed before."""
HANDSHAKE = ("mode", "syn_ace", "final_ack_frame")
PORTS = ("client_port", "server_port")


def packets(capture: Capture, lookups: Sequence[Lookup]) -> dict[int, tuple[ProofPacket, ...]]:
    """Packets by position of their finding, in the order of the capture; no empty entries."""
    found: dict[int, tuple[ProofPacket, ...]] = {}
    for source in sorted({lookup.source for lookup in lookups}):
        mine = [lookup for lookup in lookups if lookup.source == source]
        table = rows(capture, source, mine)
        handshakes = _handshakes(capture, source, table["flow"])
        for lookup, own in groupby(table.iter_rows(named=True), itemgetter("lookup")):
            found[mine[lookup].place] = tuple(
                _packet(source, row, mine[lookup].frames, handshakes.get(row["flow"], {}))
                for row in own
            )
    return found


def _handshakes(capture: Capture, source: int, flows: pl.Series) -> dict[int, dict[str, Any]]:
    """What words need of rows of `flows` as this capture saw them, by flow."""
    here = (pl.col("source") == source) & pl.col("flow").is_in(flows.drop_nulls().implode())
    known = capture.flows.filter(here).select("flow", *HANDSHAKE, *PORTS)
    return {row["flow"]: row for row in known.iter_rows(named=True)}


def rows(capture: Capture, source: int, lookups: Sequence[Lookup]) -> pl.DataFrame:
    """Packets by lookup (its position in ``lookups``) and frame: PACKET_COLUMNS and CHANGES."""
    flows = capture.flows.filter(source=source).select("flow", *HANDSHAKE)
    accecn = set(flows.filter(mode="accecn")["flow"])
    wanted = [
        (
            lookup.frames,
            lookup.flow,
            lookup.span_ns,
            lookup.losses,
            lookup.flow in accecn,
            PACKETS_AROUND if lookup.flow is not None else 0,
        )
        for lookup in lookups
    ]
    codes = set(flows["final_ack_frame"].drop_nulls())
    second = stream.second_pass(capture, source)
    table = _native.proving(
        second.path,
        source,
        second.starts,
        [*PACKET_COLUMNS, *CHANGES],
        wanted,
        codes,
        second.offset_ns,
    )
    return pl.DataFrame(table).sort("lookup", "frame")


def _packet(
    source: int, row: dict[str, Any], frames: Collection[int], handshake: dict[str, Any]
) -> ProofPacket:
    options = (row["e0b"], row["ceb"], row["e1b"])
    return ProofPacket(
        source=source,
        frame=row["frame"],
        ts_ns=row["ts_ns"],
        flow=row["flow"],
        forward=row["forward"],
        ip_ecn=row["ip_ecn"],
        tcp_flags=row["tcp_flags"],
        ace=row["ace"],
        counters=options if any(value is not None for value in options) else None,
        seq=row["seq"],
        ack=row["ack"],
        payload_bytes=row["payload_len"],
        named=row["frame"] in frames,
        shows=shows.sentence(row, handshake),
        offset=row["offset"],
        captured_bytes=row["captured_len"],
        wire_bytes=row["wire_len"],
        header=_header(row, handshake),
    )


def _header(row: dict[str, Any], flow: dict[str, Any]) -> bytes:
    """The first twelve bytes of the TCP header."""
    client, server = (flow[port] for port in PORTS)
    ports = (client, server) if row["forward"] else (server, client)
    return struct.pack(">HHII", *ports, row["seq_raw"], row["ack_raw"])
