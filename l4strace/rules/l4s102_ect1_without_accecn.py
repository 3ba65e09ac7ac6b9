"""Data packets carry ECT(1) although AccECN was not negotiated.

What it checks
--------------
Flow directions with ECT(1) data whose handshake negotiated classic ECN or no ECN.

Why it matters
--------------
ECT(1) requests L4S treatment, which only a sender with accurate feedback may do (RFC 9331 section
4.2). Classic ECN feeds back at most one mark per round trip, so the sender cannot determine how
much was marked and takes more than its share of the L4S queue.

Evidence
--------
`flows.mode` and `handshake`; `directions.data_ect1` and `data_packets`.

When it is wrong
----------------
Behind a node that re-marks ECT(0) to ECT(1), the capture looks the same. ECT(1) was also used by
the ECN nonce, which RFC 8311 made historic.

What to do
----------
Update the sender: trees before 2023 keep Prague running when only classic ECN (RFC 3168) was
negotiated. Until then use another congestion control towards such servers.

References
----------
RFC 9331 section 4.2, https://github.com/L4STeam/linux/issues/10
"""

from typing import Any

import polars as pl

from l4strace.derive.vantage import first
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S102"
MAX_STRAY_PACKETS = 3
"""Packets that a reordered handshake or a single probe explains. By eye."""

UNCOUNTED = ("classic", "none")
"""Modes without feedback that counts marks."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction."""
    if not evidence.flows["mode"].is_in(UNCOUNTED).any():
        return []
    found = (
        evidence.directions.filter(pl.col("data_ect1") > MAX_STRAY_PACKETS)
        .join(evidence.flows.select("source", "flow", "mode", "handshake"), on=["source", "flow"])
        .filter(pl.col("mode").is_in(UNCOUNTED))
        .pipe(lambda rows: first(evidence, rows))
    )
    return [_finding(row) for row in found.iter_rows(named=True)]


def _finding(row: dict[str, Any]) -> Finding:
    settled = "classic ECN" if row["mode"] == "classic" else "no ECN"
    return Finding(
        CODE,
        Severity.ERROR,
        Confidence.HIGH if row["handshake"] == "full" else Confidence.MEDIUM,
        f"{row['data_ect1']:,} data packets carry ECT(1) although the handshake negotiated "
        f"{settled}: they request L4S treatment without the AccECN feedback that L4S needs.",
        "Update the sender's kernel, or use another congestion control towards this server.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("data packets with ECT(1)", row["data_ect1"], "", "0"),
            Measure("data packets", row["data_packets"]),
        ),
    )


RULE = Rule(CODE, "ect1-without-accecn", "ECT(1) without accurate feedback.", check, __doc__)
