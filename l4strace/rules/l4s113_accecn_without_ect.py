"""AccECN was negotiated, yet the data carries no ECT.

What it checks
--------------
AccECN flow directions whose data is Not-ECT at this capture point.

Why it matters
--------------
Not-ECT packets are dropped where ECT packets would be marked, and an L4S queue takes them for
classic traffic. Having negotiated AccECN, the sender wanted marks.

Evidence
--------
`flows.mode`, `directions.data_not_ect`.

When it is wrong
----------------
A congestion control that does not use ECN may negotiate AccECN all the same. A sender that found
the path mangling ECN stops using ECT by right (RFC 9768 section 3.2.2.4).

What to do
----------
Capture at the sender. If the packets leave as ECT, the path bleaches them (L4S104); if not, look
for the reason in the handshake, where the sender saw the field mangled.

References
----------
RFC 9768 section 3.2.2.3, RFC 9331 section 4.1
"""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.derive.vantage import first
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S113"
ENOUGH = 50
"""Data packets after which it is a habit: the first ones may be probes."""
SHARE = 0.95


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction, where the capture nearest to the sender saw it."""
    flows = evidence.flows.filter(pl.col("mode") == "accecn").select("source", "flow", "vantage")
    ways = evidence.directions.join(flows, on=["source", "flow"])
    with_ect = ways.filter(pl.col("data_ect1") + pl.col("data_ect0") + pl.col("data_ce") > 0)
    rows = (
        ways.filter(
            (pl.col("data_packets") >= ENOUGH)
            & (pl.col("data_not_ect") >= SHARE * pl.col("data_packets"))
        )
        .join(with_ect, on=["flow", "forward"], how="anti")
        .pipe(lambda rows: first(evidence, rows))
    )
    return [_finding(row) for row in rows.iter_rows(named=True)]


def _finding(row: dict[str, Any]) -> Finding:
    at_sender = row["vantage"] == ("client" if row["forward"] else "server")
    where = "leaves its sender" if at_sender else "passes here"
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.HIGH if at_sender else Confidence.MEDIUM,
        f"All data {where} as Not-ECT although AccECN was negotiated"
        + ("." if at_sender else ": bleached before this point, or never set."),
        "Capture at the sender: if the data leaves it as ECT, the path bleaches it.",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("data packets with Not-ECT", row["data_not_ect"], "", "0"),
            Measure("data packets", row["data_packets"]),
        ),
    )


RULE = Rule(CODE, "accecn-without-ect", "AccECN flow whose data is Not-ECT.", check, __doc__)
