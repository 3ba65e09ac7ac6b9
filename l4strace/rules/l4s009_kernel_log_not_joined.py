"""No sample of a log belongs to a flow of the capture.

What it checks
--------------
Whether any sample of a kernel log belongs to a flow of the capture. The log joins a flow when their
addresses or ports agree and the log's acknowledgements match the packets in number and time; the
log of a user-space sender (qlog, UDP Prague, SCReAM) when times and sizes of its datagrams match.

Why it matters
--------------
Without the join, the kernel's state cannot be compared with the packets. A log of another host or
another run proves nothing about this one.

Evidence
--------
`kernel.flow` of each log against `directions.flow`; `stats` rows `kernel_log_not_joined` hold the
reason; `sources.path` names the log.

When it is wrong
----------------
The capture's filter may leave out the sockets of the log. One sample that joins a flow keeps this
rule silent.

What to do
----------
Record log and capture in the same run on the sending host (`l4strace capture`).

References
----------
collectors/FORMAT.md, section "header"
"""

import polars as pl

from l4strace.evidence import Evidence, traffic
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import Stat

UNKNOWN = "Log and capture differ in host, run or clock."


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each log none of whose samples found its flow."""
    evidence = traffic(evidence)
    if evidence.kernel.is_empty():
        return []
    captured = evidence.directions["flow"].unique()
    if not captured.len():
        return [Skipped("no capture to join the log with")]
    joined = evidence.kernel.group_by("source").agg(
        pl.len().alias("samples"), pl.col("flow").is_in(captured.implode()).sum().alias("joined")
    )
    reasons = evidence.stats.filter(pl.col("name") == Stat.KERNEL_LOG_NOT_JOINED)
    reasons = reasons.unique("source", keep="first", maintain_order=True)
    lone = (
        joined.filter(pl.col("joined") == 0)
        .join(evidence.sources.select("source", "path"), on="source", how="left")
        .join(reasons.select("source", "detail"), on="source", how="left")
    )
    return [
        Finding(
            Severity.WARNING,
            Confidence.HIGH,
            f"{row['path']}: none of its samples ({row['samples']:,}) belongs to a flow of the "
            f"capture. {row['detail'] or UNKNOWN}",
            "Record log and capture in the same run on the sending host.",
            source=row["source"],
            measures=(Measure("joined samples", 0, "", "all"),),
        )
        for row in lone.sort("source").iter_rows(named=True)
    ]


RULE = Rule.of(__name__, __doc__, check, "Log and capture do not match")
