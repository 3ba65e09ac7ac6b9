"""The kernel log could not be joined with the packets.

What it checks
--------------
Whether samples of a kernel log belong to flows of the capture, and how far matched events still lie
apart on the run's clock.

Why it matters
--------------
Without the join the kernel's state cannot be compared with what the packets show, and a log of
another host or another run would prove nothing about this one.

Evidence
--------
`kernel.flow` of each log, `sources.clock_residual_ns`.

When it is wrong
----------------
The log may also hold sockets that the capture's filter left out: that is said only when no sample
at all finds its flow.

What to do
----------
Record log and capture in one run on one host (`l4strace capture`), and give the clock offset where
the log's dialect has none.

References
----------
collectors/FORMAT.md, section "header"
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped

CODE = "L4S009"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each log none of whose samples found its flow."""
    captured = evidence.directions["flow"].unique()
    if not captured.len():
        return (
            [Skipped(CODE, "no capture to join a kernel log with")]
            if evidence.kernel.height
            else []
        )
    joined = evidence.kernel.group_by("source").agg(
        pl.len().alias("samples"), pl.col("flow").is_in(captured.implode()).sum().alias("joined")
    )
    lone = joined.filter(pl.col("joined") == 0).join(
        evidence.sources.select("source", "path", "clock_residual_ns"), on="source", how="left"
    )
    return [
        Finding(
            CODE,
            Severity.WARNING,
            Confidence.HIGH,
            f"None of the {row['samples']:,} samples of {row['path']} belongs to a flow of the "
            "capture: the two are of different hosts, runs or clocks.",
            "Record log and capture together, on the sending host.",
            source=row["source"],
            measures=(Measure("joined samples", 0, "", "all"),),
        )
        for row in lone.sort("source").iter_rows(named=True)
    ]


RULE = Rule(CODE, "kernel-log-not-joined", "Kernel log and capture do not match.", check, __doc__)
