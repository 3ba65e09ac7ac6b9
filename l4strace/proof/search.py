"""One pass over a capture that finds the packets of all its lookups, and stops when it has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from l4strace.evidence import Capture
from l4strace.ingest import packets as stream
from l4strace.model import ProofPacket
from l4strace.proof import shows
from l4strace.proof.wanted import Lookup

AROUND = 8
"""Telling packets beside those that a finding names."""
SYN, RST = 0x002, 0x004
CE = 3
SIDE = ("flow", "forward")


def packets(capture: Capture, lookups: Sequence[Lookup]) -> dict[int, tuple[ProofPacket, ...]]:
    """By place of the finding: its packets in the order of the capture; no entry without any."""
    found: dict[int, tuple[ProofPacket, ...]] = {}
    for source in sorted({lookup.source for lookup in lookups}):
        mine = [lookup for lookup in lookups if lookup.source == source]
        handshakes = _handshakes(capture, source)
        for lookup, rows in _search(capture, source, mine, handshakes).items():
            known = pl.concat(rows).unique("frame", maintain_order=True) if rows else None
            if known is not None and known.height:
                found[lookup.place] = tuple(
                    _packet(row, row["frame"] in lookup.frames, handshakes.get(row["flow"], {}))
                    for row in known.sort("frame").iter_rows(named=True)
                )
    return found


def _handshakes(capture: Capture, source: int) -> dict[int, dict[str, Any]]:
    """Rows of `flows` as this capture saw them, by flow."""
    rows = capture.flows.filter(pl.col("source") == source)
    return {row["flow"]: row for row in rows.iter_rows(named=True)}


def _search(
    capture: Capture,
    source: int,
    lookups: Sequence[Lookup],
    handshakes: dict[int, dict[str, Any]],
) -> dict[Lookup, list[pl.DataFrame]]:
    found: dict[Lookup, list[pl.DataFrame]] = {lookup: [] for lookup in lookups}
    last = max((frame for lookup in lookups for frame in lookup.frames), default=0)
    flows = pl.Series(sorted({lookup.flow for lookup in lookups if lookup.flow is not None}))
    frames = pl.Series(sorted({frame for lookup in lookups for frame in lookup.frames}))
    codes = [row["final_ack_frame"] for row in handshakes.values() if row["final_ack_frame"]]
    accecn = {flow for flow, row in handshakes.items() if row["mode"] == "accecn"}
    around = dict.fromkeys((lookup for lookup in lookups if lookup.flow is not None), AROUND)
    for batch in stream.of_source(capture, source):
        first_ns, end = batch["ts_ns"].min(), batch["frame"].max()
        # What a span has not shown by its end it will not show later.
        around = {k: n for k, n in around.items() if n and not _past(k, first_ns)}
        if not around and isinstance(end, int) and batch["frame"][0] > last:
            break
        candidates = batch.filter(
            pl.col("flow").is_in(flows.implode()) | pl.col("frame").is_in(frames.implode())
        )
        if candidates.is_empty():
            continue
        known = _with_changes(candidates, codes)
        for lookup in lookups:
            found[lookup].append(known.filter(pl.col("frame").is_in(list(lookup.frames))))
            if lookup in around:
                telling = known.filter(_telling(lookup, lookup.flow in accecn))
                found[lookup].append(telling.head(around[lookup]))
                around[lookup] -= found[lookup][-1].height
    return found


def _past(lookup: Lookup, now_ns: object) -> bool:
    return lookup.span_ns is not None and isinstance(now_ns, int) and now_ns > lookup.span_ns[1]


def _with_changes(rows: pl.DataFrame, codes: Sequence[int]) -> pl.DataFrame:
    """``rows`` with what changed against the packet before in the same direction.

    Adds `ace_before`, `ceb_before` (null at the first, and across batches), `repeats` (bytes that
    this batch held before) and `code` (a final ACK). In the handshake ACE is a code and no counter:
    that of the SYNs and of the final ACKs, whose frames are ``codes``.
    """
    end = pl.col("seq") + pl.col("payload_len")
    code = pl.col("frame").is_in(list(codes))
    counts = (pl.col("tcp_flags") & SYN == 0) & ~code
    counter = pl.when(counts).then("ace")
    return rows.with_columns(
        ace_before=pl.when(counts).then(counter.forward_fill().shift().over(SIDE)),
        ceb_before=pl.col("ceb").forward_fill().shift().over(SIDE),
        code=code,
        repeats=(pl.col("payload_len") > 0) & (end <= end.cum_max().shift().over(SIDE)),
    ).with_columns(pl.col("repeats").fill_null(False))


def _telling(lookup: Lookup, accecn: bool) -> pl.Expr:
    """Packets of the flow, in the span, that show more than that data went by."""
    changed = (pl.col("ace") != pl.col("ace_before")).fill_null(False)
    # Under classic ECN the first packet without ECE or CWR shows nothing.
    changed = changed if accecn else changed & (pl.col("ace") != 0)
    marked = pl.col("ip_ecn") == CE
    control = pl.col("tcp_flags") & (SYN | RST) != 0
    repeats = pl.col("repeats") & lookup.losses
    shown = changed | marked | control | repeats | pl.col("code")
    telling = shown & (pl.col("flow") == lookup.flow)
    if lookup.span_ns is None:
        return telling
    return telling & pl.col("ts_ns").is_between(*lookup.span_ns)


def _packet(row: dict[str, Any], named: bool, handshake: dict[str, Any]) -> ProofPacket:
    options = (row["e0b"], row["ceb"], row["e1b"])
    return ProofPacket(
        source=row["source"],
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
        named=named,
        shows=shows.sentence(row, handshake),
        offset=row["offset"],
        captured_bytes=row["captured_len"],
        wire_bytes=row["wire_len"],
    )
