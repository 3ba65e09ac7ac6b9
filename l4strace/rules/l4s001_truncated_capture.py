"""The capture ends inside a record, or its packets were cut too short.

What it checks
--------------
Whether a capture file ends in the middle of a packet or is damaged on the way, and whether the
snapshot length cut TCP headers or options.

Why it matters
--------------
Everything after the cut is missing, so "no CE" or "no loss" only holds up to there. Cut options
hide timestamps, SACK blocks and AccECN counters, and with them RTTs and exact CE counts.

Evidence
--------
`stats` rows `truncated_file`, `damaged_file` and `headers_cut`; `sources.complete`;
`directions.options_cut`.

When it is wrong
----------------
A capture that is still being written ends inside a record without any fault. What was read before
the cut is right.

What to do
----------
Stop the capture with SIGINT rather than SIGKILL, leave room on the disk, and record at least 128
bytes of each packet (`-s 128`).

References
----------
https://www.ietf.org/archive/id/draft-ietf-opsawg-pcap-06.html
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import Stat
from l4strace.wording.quantities import count

CODE = "L4S001"
CUT_FILE = (Stat.TRUNCATED_FILE, Stat.DAMAGED_FILE)


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """Cut files, then cut packets."""
    return [*_cut_files(evidence), *_cut_packets(evidence)]


def _cut_files(evidence: Evidence) -> list[Finding | Skipped]:
    cut = evidence.stats.filter(pl.col("name").is_in(CUT_FILE) & (pl.col("count") > 0))
    paths = dict(evidence.sources.select("source", "path").iter_rows())
    return [
        Finding(
            CODE,
            Severity.NOTICE if row["name"] == Stat.TRUNCATED_FILE else Severity.WARNING,
            Confidence.HIGH,
            f"{paths.get(row['source'], 'The capture')} "
            + (
                "ends inside a record: what came after is missing."
                if row["name"] == Stat.TRUNCATED_FILE
                else f"is damaged: {_detail(row['detail'])}."
            ),
            "Stop captures with SIGINT and check that the disk has room.",
            source=row["source"],
        )
        for row in cut.iter_rows(named=True)
    ]


def _cut_packets(evidence: Evidence) -> list[Finding | Skipped]:
    headers = evidence.stats.filter(pl.col("name") == Stat.HEADERS_CUT).select("source", "count")
    options = evidence.directions.select("source", pl.col("options_cut").alias("count"))
    cut = (
        pl.concat([headers, options])
        .group_by("source")
        .agg(pl.col("count").sum())
        .filter(pl.col("count") > 0)
        .sort("source")
    )
    return [
        Finding(
            CODE,
            Severity.NOTICE,
            Confidence.HIGH,
            f"The snapshot length cut TCP headers or options: of {count(row['count'], 'packet')}.",
            "Record at least 128 bytes of each packet.",
            source=row["source"],
            measures=(Measure("packets with cut headers", row["count"], "", "0"),),
        )
        for row in cut.iter_rows(named=True)
    ]


def _detail(said: str | None) -> str:
    return (said or "what follows could not be read").rstrip(".")


RULE = Rule(CODE, "truncated-capture", "The capture or its packets are cut short.", check, __doc__)
