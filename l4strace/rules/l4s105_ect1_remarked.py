"""Something on the path turns one ECT codepoint into the other.

What it checks
--------------
Packets that left as ECT(1) and arrived as ECT(0), or the other way round: in the handshake's
reflection, in the AccECN byte counters, and packet by packet where both ends were captured.

Why it matters
--------------
ECT(1) re-marked to ECT(0) lands in the classic queue: full queue delay, rare marks. ECT(0)
re-marked to ECT(1) puts a classic sender into the L4S queue, where it ruins the delay of all.

Evidence
--------
`flows.syn_ecn` against `syn_arrived_ecn` and the like; `directions.data_ect1` against `e0b_bytes`;
`paths.ect1_to_ect0` and `ect0_to_ect1`.

When it is wrong
----------------
Linux accepts the change in the handshake without complaint, so nothing else in the trace will show
it. A re-marking of SYNs alone leaves data as it was.

What to do
----------
Find the node as for bleaching (L4S104). Equipment that set ECT(0) "for everybody" and class-of-
service gateways that rewrite the byte are the usual suspects.

References
----------
RFC 9331 section 5.1, RFC 9768 section 3.2.2.3
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S105"
ECT1, ECT0 = 1, 2
NAMES = {ECT1: "ECT(1)", ECT0: "ECT(0)"}
MORE_THAN_ACKS = 10_000
"""Bytes reported with the other codepoint that no handful of probes explains."""
ACTION = "Find the node that rewrites the field: capture hop by hop, or compare quoted TTL probes."


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each re-marked flow direction, by its strongest evidence."""
    said: dict[tuple[int, bool], Finding] = {}
    for found in [*_by_both_ends(evidence), *_by_counters(evidence), *_by_reflection(evidence)]:
        said.setdefault((found.flow or 0, bool(found.forward)), found)
    return list(said.values())


def _by_both_ends(evidence: Evidence) -> list[Finding]:
    changed = pl.col("ect1_to_ect0") + pl.col("ect0_to_ect1")
    rows = evidence.paths.with_columns(changed=changed).filter(pl.col("changed") > 0)
    found = []
    for row in rows.iter_rows(named=True):
        sent = ECT1 if row["ect1_to_ect0"] >= row["ect0_to_ect1"] else ECT0
        found.append(
            _finding(
                row,
                row["near"],
                Confidence.HIGH,
                f"{row['changed']:,} of {row['matched']:,} packets left as {NAMES[sent]} and "
                f"arrived as {NAMES[ECT1 + ECT0 - sent]}.",
                row["first_change_frame_near"],
                Measure("re-marked packets", row["changed"], "", "0"),
            )
        )
    return found


def _by_counters(evidence: Evidence) -> list[Finding]:
    """A direction that sends one codepoint only while its receiver counts bytes of the other."""
    found = []
    for sent, other, reported in (
        (ECT1, "data_ect0", "e0b_bytes"),
        (ECT0, "data_ect1", "e1b_bytes"),
    ):
        own = "data_ect1" if sent == ECT1 else "data_ect0"
        rows = evidence.directions.filter(
            (pl.col(own) > 0) & (pl.col(other) == 0) & (pl.col(reported) > MORE_THAN_ACKS)
        )
        found += [
            _finding(
                row,
                row["source"],
                Confidence.HIGH,
                f"All data leaves here as {NAMES[sent]}, yet the receiver counts "
                f"{row[reported]:,} bytes as {NAMES[ECT1 + ECT0 - sent]}.",
                row["first_frame"],
                Measure(
                    f"bytes reported as {NAMES[ECT1 + ECT0 - sent]}", row[reported], "byte", "0"
                ),
            )
            for row in rows.iter_rows(named=True)
        ]
    return found


def _by_reflection(evidence: Evidence) -> list[Finding]:
    found = []
    for forward, packet, sent, arrived, frame in (
        (True, "SYN", "syn_ecn", "syn_arrived_ecn", "synack_frame"),
        (False, "SYN/ACK", "synack_ecn", "synack_arrived_ecn", "final_ack_frame"),
    ):
        rows = evidence.flows.filter(
            pl.col(sent).is_in([ECT1, ECT0])
            & pl.col(arrived).is_in([ECT1, ECT0])
            & (pl.col(sent) != pl.col(arrived))
        )
        found += [
            _finding(
                row | {"forward": forward},
                row["source"],
                Confidence.MEDIUM,
                f"The {packet} left here as {NAMES[row[sent]]} and arrived as "
                f"{NAMES[row[arrived]]}.",
                row[frame],
                Measure(f"{packet} as it arrived", NAMES[row[arrived]], "", NAMES[row[sent]]),
            )
            for row in rows.iter_rows(named=True)
        ]
    return found


def _finding(
    row: dict[str, Any],
    source: int,
    confidence: Confidence,
    message: str,
    frame: int | None,
    measure: Measure,
) -> Finding:
    return Finding(
        CODE,
        Severity.ERROR,
        confidence,
        f"{message} The path re-marks ECN.",
        ACTION,
        source=source,
        flow=row["flow"],
        forward=row["forward"],
        frames=() if frame is None else (frame,),
        measures=(measure,),
    )


RULE = Rule(CODE, "ect1-remarked", "The path swaps ECT(1) and ECT(0).", check, __doc__)
