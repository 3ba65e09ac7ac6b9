"""Something on the path clears the ECN field.

What it checks
--------------
Whether packets that left as ECT arrive as Not-ECT: in the handshake's reflection (the SYN/ACK says
how the SYN arrived, the client's ACK how the SYN/ACK did), in the AccECN byte counters, and packet
by packet where both ends were captured.

Why it matters
--------------
A bleached packet cannot be marked: the bottleneck drops it instead, an L4S queue takes it for
classic traffic, and the sender gets no sign of the queue but loss.

Evidence
--------
`flows.syn_ecn` against `syn_arrived_ecn`, `synack_ecn` against `synack_arrived_ecn`;
`directions.data_ect1` against `e1b_bytes`; `paths.ect1_to_not_ect` and `ect0_to_not_ect`.

When it is wrong
----------------
Some networks treat only SYNs that way: if the byte counters move, data gets through and the finding
is a notice. A capture behind the bleaching node sees no change; L4S113 speaks up there.

What to do
----------
Capture hop by hop, or send a probe with increasing TTL and compare the quoted headers, to find the
node. Usual suspects: DSCP rewriting that covers the whole former ToS byte, old firewalls, tunnels
that do not copy the field (RFC 6040).

References
----------
RFC 9768 section 3.2.2.1 (reflection) and 3.2.2.3 (mangling), RFC 6040, RFC 9331 section 4.1
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import ECN_FIELD

CODE = "L4S104"
NOT_ECT = 0
ECT = (1, 2)
ENOUGH_BYTES = 100_000
"""ECT data after which a working path must have moved a byte counter."""
ENOUGH_OPTIONS = 10
"""Options from the receiver before its silence counts: the SYN/ACK's alone says nothing yet."""

NAMES = ECN_FIELD
ACTION = "Find the node that clears the field: capture hop by hop, or compare quoted TTL probes."


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each bleached flow direction, by its strongest evidence."""
    said: dict[tuple[int, bool], Finding] = {}
    for found in [*_by_both_ends(evidence), *_by_reflection(evidence), *_by_counters(evidence)]:
        said.setdefault((found.flow or 0, bool(found.forward)), found)
    return list(said.values())


def _by_both_ends(evidence: Evidence) -> list[Finding]:
    cleared = pl.col("ect1_to_not_ect") + pl.col("ect0_to_not_ect")
    rows = evidence.paths.with_columns(cleared=cleared).filter(pl.col("cleared") > 0)
    return [
        _finding(
            row,
            row["near"],
            Severity.ERROR,
            Confidence.HIGH,
            f"{row['cleared']:,} of {row['matched']:,} packets left as ECT and arrived as Not-ECT: "
            "the path bleaches ECN.",
            (row["first_change_frame_near"],),
            Measure("bleached packets", row["cleared"], "", "0"),
        )
        for row in rows.iter_rows(named=True)
    ]


def _by_reflection(evidence: Evidence) -> list[Finding]:
    ways = evidence.directions.select(
        "source", "flow", "forward", "data_ect1", "data_ect0", "e1b_bytes", "e0b_bytes"
    )
    found = []
    for forward, packet, sent, arrived, frame in (
        (True, "SYN", "syn_ecn", "syn_arrived_ecn", "synack_frame"),
        (False, "SYN/ACK", "synack_ecn", "synack_arrived_ecn", "final_ack_frame"),
    ):
        rows = evidence.flows.filter(
            pl.col(sent).is_in(ECT) & (pl.col(arrived) == NOT_ECT) & (pl.col("mode") == "accecn")
        ).join(ways.filter(pl.col("forward") == forward), on=["source", "flow"], how="left")
        found += [
            _reflected(row | {"forward": forward}, packet, row[sent], row[frame])
            for row in rows.iter_rows(named=True)
        ]
    return found


def _reflected(row: dict[str, Any], packet: str, sent: int, frame: int | None) -> Finding:
    data_arrives = (row["e1b_bytes"] or 0) + (row["e0b_bytes"] or 0) > 0
    counted = row["e1b_bytes"] is not None and not data_arrives
    message = f"The {packet} left here as {NAMES[sent]} and arrived as Not-ECT"
    if data_arrives:
        message += "; data gets through, so only handshake packets are bleached."
    else:
        message += ": the path bleaches ECN" + (
            ", and no ECT byte was ever reported back." if counted else "."
        )
    return _finding(
        row,
        row["source"],
        Severity.NOTICE if data_arrives else Severity.ERROR,
        Confidence.HIGH if counted or data_arrives else Confidence.MEDIUM,
        message,
        (frame,),
        Measure(f"{packet} as it arrived", "Not-ECT", "", NAMES[sent]),
    )


def _by_counters(evidence: Evidence) -> list[Finding]:
    ect = pl.col("data_ect1") + pl.col("data_ect0")
    reports = evidence.directions.select(
        "source", "flow", ~pl.col("forward"), reports=pl.col("accecn_options")
    )
    silent = evidence.directions.filter(
        (pl.col("e1b_bytes").fill_null(0) + pl.col("e0b_bytes").fill_null(0) == 0)
        & (pl.col("ceb_bytes") == 0)
        & (pl.col("e1b_bytes").is_not_null() | pl.col("e0b_bytes").is_not_null())
        & (ect > 0)
        & (pl.col("acked_bytes") > ENOUGH_BYTES)
    )
    silent = silent.join(reports, on=["source", "flow", "forward"]).filter(
        pl.col("reports") >= ENOUGH_OPTIONS
    )
    return [
        _finding(
            row,
            row["source"],
            Severity.ERROR,
            Confidence.HIGH,
            f"{row['acked_bytes']:,} bytes of ECT data were acknowledged and not one was reported "
            "as ECT: the path bleaches ECN.",
            (row["first_frame"],),
            Measure("ECT bytes reported back", 0, "byte", f"{row['acked_bytes']:,}"),
        )
        for row in silent.iter_rows(named=True)
    ]


def _finding(
    row: dict[str, Any],
    source: int,
    severity: Severity,
    confidence: Confidence,
    message: str,
    frames: tuple[int | None, ...],
    measure: Measure,
) -> Finding:
    return Finding(
        CODE,
        severity,
        confidence,
        message,
        ACTION,
        source=source,
        flow=row["flow"],
        forward=row["forward"],
        frames=tuple(frame for frame in frames if frame is not None),
        measures=(measure,),
    )


RULE = Rule(CODE, "ecn-bleached", "The path clears the ECN field.", check, __doc__)
