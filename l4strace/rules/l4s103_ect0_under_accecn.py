"""A sender that was meant to be L4S sends ECT(0).

What it checks
--------------
AccECN flow directions whose data is ECT(0) although something says that L4S was meant: the SYN or
SYN/ACK of that side was ECT(1), part of its data is ECT(1), or its kernel runs Prague.

Why it matters
--------------
ECT(0) is the codepoint of classic ECN: a DualPI2 puts it into the classic queue, with its delay and
its rare marks, while the sender expects frequent shallow ones.

Evidence
--------
`directions.data_ect0` and `data_ect1`, `flows.syn_ecn` and `synack_ecn`, `kernel.cc`. Pure ACKs do
not count: an AccECN receiver may send them as ECT(0).

When it is wrong
----------------
Seen behind a re-marking node it is the path's doing: L4S105 says so where that can be told. An
AccECN flow of CUBIC is ECT(0) by right; it is only reported when L4S was meant.

What to do
----------
Check that the socket runs Prague (`ss -tin`), and that its kernel sets ECT(1): modules built before
the ECT(1) negotiation flags send ECT(0) on newer kernels.

References
----------
RFC 9331 section 4.1
"""

from typing import Any

import polars as pl

from l4strace.derive.vantage import first
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S103"
SHARE = 0.1
"""Share of ECT(0) data from which it is not a handful of probes."""
FEW = 10
ECT1 = 1


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction."""
    prague = evidence.kernel.filter(pl.col("cc") == "prague")["flow"].drop_nulls().unique()
    flows = evidence.flows.filter(pl.col("mode") == "accecn").select(
        "source", "flow", "syn_ecn", "synack_ecn"
    )
    own_syn = pl.when(pl.col("forward")).then("syn_ecn").otherwise("synack_ecn")
    found = (
        evidence.directions.filter(
            (pl.col("data_ect0") >= FEW) & (pl.col("data_ect0") >= SHARE * pl.col("data_packets"))
        )
        .join(flows, on=["source", "flow"])
        .filter(
            (own_syn == ECT1)
            | (pl.col("data_ect1") > 0)
            | (pl.col("forward") & pl.col("flow").is_in(prague.implode()))
        )
        .pipe(lambda rows: first(evidence, rows))
    )
    return [_finding(row) for row in found.iter_rows(named=True)]


def _finding(row: dict[str, Any]) -> Finding:
    share = row["data_ect0"] / (row["data_ect0"] + row["data_ect1"] + row["data_not_ect"])
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.MEDIUM,
        f"{100 * share:.0f} % of the unmarked data is ECT(0) although L4S was meant: it gets "
        "the classic queue.",
        "Check that the socket runs Prague and that its kernel sets ECT(1).",
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("data packets with ECT(0)", row["data_ect0"], "", "0"),
            Measure("data packets with ECT(1)", row["data_ect1"], "", "all"),
        ),
    )


RULE = Rule(CODE, "ect0-under-accecn", "ECT(0) where an L4S sender was meant.", check, __doc__)
