"""Cut recordings of flows over UDP at both ends, and tables of such flows made by hand."""

from __future__ import annotations

import lzma
import struct
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.model import Finding, Rule
from l4strace.schema.words import CODEPOINTS
from tests.support.frames import evidence, frame
from tests.support.places import FIXTURES

CLIENT = bytes((10, 9, 0, 1))


@cache
def recorded(run: str, ends: str = "ab") -> Evidence:
    """``a`` is the capture at the sender of the data, ``b`` that at its receiver."""
    captures = [str(FIXTURES / "user-space" / f"{run}-{end}.pcap.xz") for end in ends]
    return pipeline.derive(pipeline.read(captures, companions=False), strict=True)


def altered(run: str, folder: Path, tos: Callable[[int], int]) -> Evidence:
    """``recorded``, but what the client sent arrives with what ``tos`` makes of DSCP and ECN."""
    data = bytearray(lzma.decompress((FIXTURES / "user-space" / f"{run}-b.pcap.xz").read_bytes()))
    at = 24
    while at < len(data):
        (held,) = struct.unpack_from("<I", data, at + 8)
        # The records are IP packets without a link layer.
        if data[at + 28 : at + 32] == CLIENT:
            data[at + 17] = tos(data[at + 17])
        at += 16 + held
    (far := folder / f"{run}-b.pcap").write_bytes(data)
    captures = [str(FIXTURES / "user-space" / f"{run}-a.pcap.xz"), str(far)]
    return pipeline.derive(pipeline.read(captures, companions=False), strict=True)


def findings(rule: Rule, of: Evidence) -> list[Finding]:
    """What the rule finds, without what it cannot judge."""
    return [one for one in rule.ask(of) if isinstance(one, Finding)]


def path(**columns: Any) -> pl.DataFrame:
    """A row of `paths` from input 0 to input 1, on which nothing is lost or changed."""
    ways = {f"{left}_to_{arrived}": 0 for left in CODEPOINTS for arrived in CODEPOINTS}
    plain = {"near": 0, "far": 1, "matched": 1000, "lost": 0, "dscp_changed": 0}
    return frame("paths", **(ways | plain | columns))


def sent(runs: list[int], transport: str = "quic", **tables: pl.DataFrame) -> Evidence:
    """One flow over UDP, sent in these runs: codepoint, packets, codepoint, packets and so on."""
    counts = {
        name: sum(packets for at, packets in zip(runs[::2], runs[1::2], strict=True) if at == field)
        for field, name in enumerate(CODEPOINTS)
    }
    gave_up = len(runs) > 2 and runs[-2] == 0
    return evidence(
        udp_flows=frame("flows", transport=transport),
        udp_directions=frame(
            "directions",
            packets=sum(runs[1::2]),
            **counts,
            ecn_runs=len(runs) // 2,
            first_ecn_runs=[runs],
            without_ect_since_ns=5_000_000 if gave_up else None,
            without_ect_since_frame=12 if gave_up else None,
            without_ect_packets=runs[-1] if runs[-2] == 0 else 0,
        ),
        **tables,
    )
