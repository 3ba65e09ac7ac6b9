"""What `native/src/evidence_packets.rs` finds, in polars expressions: the oracle of its tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from l4strace.evidence import Capture
from l4strace.evidence_packets.search import PACKETS_AROUND
from l4strace.evidence_packets.wanted import Lookup
from l4strace.ingest import packets as stream

SYN, RST = 0x002, 0x004
CE = 3
SIDE = ("flow", "forward")
NEEDED = (*("frame", "ts_ns", *SIDE, "ip_ecn", "tcp_flags", "seq", "payload_len", "ace", "ceb"),)
SHOWN = ("frame", "ace_before", "ceb_before", "repeats")


def found(capture: Capture, lookups: Sequence[Lookup]) -> dict[int, list[tuple[Any, ...]]]:
    """By place of the finding: frame and changes of its packets; no entry without any."""
    chosen: dict[int, list[tuple[Any, ...]]] = {}
    for source in sorted({lookup.source for lookup in lookups}):
        mine = [lookup for lookup in lookups if lookup.source == source]
        flows = capture.flows.filter(pl.col("source") == source)
        handshakes = {row["flow"]: row for row in flows.iter_rows(named=True)}
        for lookup, rows in _search(capture, source, mine, handshakes).items():
            known = pl.concat(rows).unique("frame", maintain_order=True) if rows else None
            if known is not None and known.height:
                chosen[lookup.place] = known.sort("frame").select(SHOWN).rows()
    return chosen


def _search(
    capture: Capture,
    source: int,
    lookups: Sequence[Lookup],
    handshakes: dict[int, dict[str, Any]],
) -> dict[Lookup, list[pl.DataFrame]]:
    found: dict[Lookup, list[pl.DataFrame]] = {lookup: [] for lookup in lookups}
    codes = [row["final_ack_frame"] for row in handshakes.values() if row["final_ack_frame"]]
    accecn = {flow for flow, row in handshakes.items() if row["mode"] == "accecn"}
    around = {lookup: PACKETS_AROUND if lookup.flow is not None else 0 for lookup in lookups}
    for batch in stream.of_source(capture, source, columns=NEEDED):
        first, last = batch["frame"][0], batch["frame"][-1]
        earliest_ns, latest_ns = batch.select(pl.col("ts_ns").min(), end=pl.col("ts_ns").max()).row(
            0
        )
        # What a span has not shown by its end it will not show later.
        around |= {one: 0 for one in lookups if one.span_ns and one.span_ns[1] < earliest_ns}
        if not any(around[one] or max(one.frames, default=0) >= first for one in lookups):
            break
        searched = [
            one
            for one in lookups
            if (around[one] and (one.span_ns is None or one.span_ns[0] <= latest_ns))
            or any(first <= frame <= last for frame in one.frames)
        ]
        if not searched:
            continue
        known = _with_changes(_candidates(batch, searched), codes)
        for lookup in searched:
            named = known.filter(pl.col("frame").is_in(list(lookup.frames)))
            telling = known.filter(_telling(lookup, lookup.flow in accecn)).head(around[lookup])
            around[lookup] -= telling.height
            found[lookup] += [named, telling]
    return found


def _candidates(batch: pl.DataFrame, lookups: Sequence[Lookup]) -> pl.DataFrame:
    """Packets of the flows that are searched, and the named frames."""
    flows = sorted({one.flow for one in lookups if one.flow is not None})
    frames = sorted({frame for one in lookups for frame in one.frames})
    return batch.filter(pl.col("flow").is_in(flows) | pl.col("frame").is_in(frames))


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
    telling = shown & (pl.col("flow") == pl.lit(lookup.flow, pl.UInt32))
    if lookup.span_ns is None:
        return telling
    return telling & pl.col("ts_ns").is_between(*lookup.span_ns)
