"""A node on the path clears the ECN field.

What it checks
--------------
Whether packets that left as ECT arrive as Not-ECT. Three sources show it: the handshake (the
SYN/ACK reflects the ECN field with which the SYN arrived, the client's ACK that of the SYN/ACK),
the byte counters of the AccECN option, and single packets where both ends were captured.

Why it matters
--------------
A bleached packet cannot be marked. The bottleneck drops it instead, an L4S AQM treats it as classic
traffic, and loss is the only congestion signal that the sender gets.

Evidence
--------
`flows.syn_ecn` against `syn_arrived_ecn`, `synack_ecn` against `synack_arrived_ecn`;
`directions.data_ect1`, `data_ect0` and `acked_bytes` against `e1b_bytes`, `e0b_bytes` and
`ceb_bytes`; `paths.ect1_to_not_ect` and `ect0_to_not_ect` against `lost`; `paths.dscp_changed`.

When it is wrong
----------------
Some networks bleach SYNs only: if the byte counters move, data arrives as ECT and the finding is a
notice. A capture behind the bleaching node shows no change; there L4S113 reports Not-ECT data.
Bleached packets that are no more than the lost ones may be retransmissions, and are not reported.

What to do
----------
Find the node: capture hop by hop, or send probes with increasing TTL and compare the headers that
the ICMP errors quote. Common causes are DSCP rewriting that covers the whole former ToS byte, old
firewalls, and tunnels that do not copy the field (RFC 6040).

References
----------
RFC 9768 section 3.2.2.1 (reflection) and 3.2.2.3 (mangling), RFC 6040, RFC 9331 section 4.1
"""

import polars as pl

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import paths, subjects
from l4strace.schema.words import CODEPOINTS, ECN_FIELD, ECT0, ECT1, NOT_ECT
from l4strace.wording.quantities import count, quantity

ECT = (ECT1, ECT0)
ENOUGH_BYTES = 100_000
"""Acknowledged data after which the byte counters of a working path have moved. By eye: about 70
full packets, where a receiver has reported from the first on."""
ENOUGH_OPTIONS = 10
"""Options from the receiver that must be seen: the one on the SYN/ACK holds only initial values
(RFC 9768 section 3.2.1). By eye: a receiver sends one on nearly every ACK."""

ACTION = (
    "Find the node that clears the field: capture hop by hop, or send probes with increasing TTL "
    "and compare the headers that the ICMP errors quote."
)


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each bleached flow direction, by its strongest evidence."""
    return subjects.strongest(
        [*_by_both_ends(evidence), *_by_reflection(evidence), *_by_counters(evidence)]
    )


def _by_both_ends(evidence: Evidence) -> list[Finding]:
    if evidence.paths.is_empty():
        return []
    cleared = pl.col("ect1_to_not_ect") + pl.col("ect0_to_not_ect")
    rows = evidence.paths.with_columns(cleared=cleared).filter(
        paths.changed(evidence, pl.col("cleared"))
    )
    return [
        _finding(
            row,
            Severity.ERROR,
            Confidence.HIGH,
            _cleared(row) + _whole_byte(row),
            "first_change_frame_near",
            Measure("bleached packets", row["cleared"], "", "0"),
        )
        for row in rows.iter_rows(named=True)
    ]


def _cleared(row: Row) -> str:
    ways = [f"{sent}_to_{arrived}" for sent in ("ect1", "ect0") for arrived in CODEPOINTS]
    left = sum(row[way] or 0 for way in ways)
    what = f"{row['cleared']:,} of {count(row['matched'], 'packet')} left as ECT and arrived"
    # A sender that gave up soon left few.
    if 0 < 2 * left < row["matched"]:
        what = f"{row['cleared']:,} of {count(left, 'ECT packet')} arrived"
    return f"{what} as Not-ECT: the path bleaches ECN."


def _whole_byte(row: Row) -> str:
    rewritten = row["dscp_changed"] or 0
    both = rewritten + row["cleared"] - row["matched"]
    # At least so many lost both; where few packets had ECT, others may be those with another DSCP.
    if rewritten < row["cleared"] or 2 * both <= row["cleared"]:
        return ""
    return " It rewrites their DSCP too: a node sets the whole former ToS byte."


def _by_reflection(evidence: Evidence) -> list[Finding]:
    found = []
    for forward, packet, sent, arrived, frame in subjects.HANDSHAKE:
        rows = evidence.flows.filter(
            pl.col(sent).is_in(ECT) & (pl.col(arrived) == NOT_ECT) & (pl.col("mode") == "accecn")
        )
        if rows.is_empty():
            continue
        counted = evidence.directions.filter(pl.col("forward") == forward).select(
            "source", "flow", "data_ect1", "data_ect0", "e1b_bytes", "e0b_bytes"
        )
        found += [
            _reflected(row | {"forward": forward}, packet, row[sent], frame)
            for row in rows.join(counted, on=["source", "flow"], how="left").iter_rows(named=True)
        ]
    return found


def _reflected(row: Row, packet: str, sent: int, frame: str) -> Finding:
    data_arrives = (row["e1b_bytes"] or 0) + (row["e0b_bytes"] or 0) > 0
    counted = row["e1b_bytes"] is not None and not data_arrives
    left = f"The {packet} was {ECN_FIELD[sent]} at this capture"
    message = f"{left} and arrived as Not-ECT: the path bleaches "
    if data_arrives:
        message += "handshake packets. Data arrives as ECT."
    else:
        message += "ECN." + (" The receiver reported no ECT byte." if counted else "")
    return _finding(
        row,
        Severity.NOTICE if data_arrives else Severity.ERROR,
        Confidence.HIGH if counted or data_arrives else Confidence.MEDIUM,
        message,
        frame,
        Measure(f"{packet} as it arrived", "Not-ECT", "", ECN_FIELD[sent]),
    )


def _by_counters(evidence: Evidence) -> list[Finding]:
    ect = pl.col("data_ect1") + pl.col("data_ect0")
    options = evidence.directions.select(
        "source", "flow", ~pl.col("forward"), options=pl.col("accecn_options")
    )
    silent = evidence.directions.filter(
        (pl.col("e1b_bytes").fill_null(0) + pl.col("e0b_bytes").fill_null(0) == 0)
        & (pl.col("ceb_bytes") == 0)
        & (pl.col("e1b_bytes").is_not_null() | pl.col("e0b_bytes").is_not_null())
        & (ect > 0)
        & (pl.col("acked_bytes") > ENOUGH_BYTES)
    )
    silent = silent.join(options, on=["source", "flow", "forward"]).filter(
        pl.col("options") >= ENOUGH_OPTIONS
    )
    return [
        _finding(
            row,
            Severity.ERROR,
            Confidence.HIGH,
            f"The receiver acknowledged {quantity(row['acked_bytes'], 'byte')} and counted no ECT "
            "or CE byte, although data was ECT at this capture: the path bleaches ECN.",
            "first_frame",
            Measure("ECT bytes reported back", 0, "byte", f"{row['acked_bytes']:,}"),
        )
        for row in silent.iter_rows(named=True)
    ]


def _finding(
    row: Row,
    severity: Severity,
    confidence: Confidence,
    message: str,
    frame: str,
    measure: Measure,
) -> Finding:
    return Finding(
        severity,
        confidence,
        message,
        ACTION,
        **direction_of(row),
        frames=(row[frame],),
        measures=(measure,),
    )


RULE = Rule.of(__name__, __doc__, check, "The path bleaches ECN")
