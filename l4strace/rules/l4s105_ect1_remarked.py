"""The path swaps ECT(1) and ECT(0).

What it checks
--------------
Packets that left as ECT(1) and arrived as ECT(0), or the reverse. Three sources show it: the ECN
fields that the handshake reflects, the byte counters of the AccECN option, and single packets where
both ends were captured.

Why it matters
--------------
ECT(1) re-marked to ECT(0) lands in the classic queue, with its full queue delay and rare marks.
ECT(0) re-marked to ECT(1) puts a classic sender into the L4S queue and raises the delay of every
L4S flow.

Evidence
--------
`flows.syn_ecn` against `syn_arrived_ecn`, `synack_ecn` against `synack_arrived_ecn`;
`directions.data_ect1` against `e0b_bytes`, `data_ect0` against `e1b_bytes`; `paths.ect1_to_ect0`
and `ect0_to_ect1`.

When it is wrong
----------------
A node that re-marks SYNs only leaves the data unchanged. Linux accepts this change in the handshake
(`tcp_ect_transition_valid`), so the trace has no other sign of it.

What to do
----------
Find the node as for bleaching (L4S104). Common causes are equipment that sets ECT(0) on all traffic
and class-of-service gateways that rewrite the whole byte.

References
----------
RFC 9331 section 5.1, RFC 9768 section 3.2.2.3
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import subjects
from l4strace.schema.words import ECN_FIELD, ECT0, ECT1
from l4strace.wording.quantities import count, quantity

NAMES = {codepoint: ECN_FIELD[codepoint] for codepoint in (ECT1, ECT0)}
MORE_THAN_PROBES = 10_000
"""Bytes reported with the other codepoint that a few probes do not explain: seven full packets. By
eye."""
ACTION = (
    "Find the node that rewrites the field: capture hop by hop, or send probes with increasing TTL "
    "and compare the headers that the ICMP errors quote."
)


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each re-marked flow direction, by its strongest evidence."""
    return subjects.strongest(
        [*_by_both_ends(evidence), *_by_counters(evidence), *_by_reflection(evidence)]
    )


def _by_both_ends(evidence: Evidence) -> list[Finding]:
    if evidence.paths.is_empty():
        return []
    changed = pl.col("ect1_to_ect0") + pl.col("ect0_to_ect1")
    rows = evidence.paths.with_columns(changed=changed).filter(pl.col("changed") > 0)
    return [
        _finding(
            row,
            Confidence.HIGH,
            f"Of {count(row['matched'], 'packet')}, {_changes(row)}.",
            "first_change_frame_near",
            Measure("re-marked packets", row["changed"], "", "0"),
        )
        for row in rows.iter_rows(named=True)
    ]


def _changes(row: Row) -> str:
    return " and ".join(
        f"{row[column]:,} left as {NAMES[sent]} and arrived as {NAMES[ECT1 + ECT0 - sent]}"
        for sent, column in ((ECT1, "ect1_to_ect0"), (ECT0, "ect0_to_ect1"))
        if row[column]
    )


def _by_counters(evidence: Evidence) -> list[Finding]:
    """A direction that sends one codepoint only while its receiver counts bytes of the other."""
    found = []
    for sent, other, reported in (
        (ECT1, "data_ect0", "e0b_bytes"),
        (ECT0, "data_ect1", "e1b_bytes"),
    ):
        own = "data_ect1" if sent == ECT1 else "data_ect0"
        rows = evidence.directions.filter(
            (pl.col(own) > 0) & (pl.col(other) == 0) & (pl.col(reported) > MORE_THAN_PROBES)
        )
        found += [
            _finding(
                row,
                Confidence.HIGH,
                f"{row[own]:,} data packets are {NAMES[sent]} at this capture and none is "
                f"{NAMES[ECT1 + ECT0 - sent]}, but the receiver counted "
                f"{quantity(row[reported], 'byte')} as {NAMES[ECT1 + ECT0 - sent]}.",
                "first_frame",
                Measure(
                    f"bytes reported as {NAMES[ECT1 + ECT0 - sent]}", row[reported], "byte", "0"
                ),
            )
            for row in rows.iter_rows(named=True)
        ]
    return found


def _by_reflection(evidence: Evidence) -> list[Finding]:
    found = []
    for forward, packet, sent, arrived, frame in subjects.HANDSHAKE:
        rows = evidence.flows.filter(
            pl.col(sent).is_in([ECT1, ECT0])
            & pl.col(arrived).is_in([ECT1, ECT0])
            & (pl.col(sent) != pl.col(arrived))
        )
        found += [
            _finding(
                row | {"forward": forward},
                Confidence.MEDIUM,
                f"The {packet} was {NAMES[row[sent]]} at this capture and arrived as "
                f"{NAMES[row[arrived]]}.",
                frame,
                Measure(f"{packet} as it arrived", NAMES[row[arrived]], "", NAMES[row[sent]]),
            )
            for row in rows.iter_rows(named=True)
        ]
    return found


def _finding(
    row: Row,
    confidence: Confidence,
    message: str,
    frame: str,
    measure: Measure,
) -> Finding:
    return Finding(
        Severity.ERROR,
        confidence,
        f"{message} The path re-marks ECN.",
        ACTION,
        **direction_of(row),
        frames=(row[frame],),
        measures=(measure,),
    )


RULE = Rule.of(__name__, __doc__, check, "The path re-marks ECN")
