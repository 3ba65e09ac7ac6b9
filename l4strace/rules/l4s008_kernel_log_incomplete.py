"""The kernel log lacks samples or its end.

What it checks
--------------
Whether the log has its end, how many samples the collector's ring or the trace buffer lost, and how
many lines could not be read.

Why it matters
--------------
l4strace replays Prague's classic-ECN detector from consecutive samples. A missing sample breaks the
replay, and the step that identifies the build needs the samples before and after one update. An
event that the log lacks may still have happened.

Evidence
--------
`sources.complete` and `kind`; rows of `stats` with `severity` `loss` or `error`, except those that
L4S006 and L4S009 report.

When it is wrong
----------------
Formats without a trailer (tracefs text, `ss` output) show a missing end only where the compressed
file is cut.

What to do
----------
Enlarge the trace buffer (`buffer_size_kb`), narrow the port filter, or record fewer events. Stop
the collector with SIGINT.

References
----------
collectors/FORMAT.md, section "trailer"
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import CAPTURES, Stat

CODE = "L4S008"
REPORTED_ELSEWHERE = (Stat.CLOCK_STEPS, Stat.KERNEL_LOG_NOT_JOINED)
"""By L4S006 and L4S009."""
NOT_SAMPLES = (Stat.NO_TRAILER, Stat.TRUNCATED_FILE)
"""Rows that count logs, not samples or lines."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each log that is not whole."""
    logs = evidence.sources.filter(~pl.col("kind").is_in([*CAPTURES, "host"]))
    found: list[Finding | Skipped] = []
    for row in logs.iter_rows(named=True):
        lost = evidence.stats.filter(
            (pl.col("source") == row["source"])
            & (pl.col("count") > 0)
            & pl.col("severity").is_in(["loss", "error"])
            & ~pl.col("name").is_in(REPORTED_ELSEWHERE)
        )
        if lost.height or row["complete"] is False:
            found.append(_finding(row["source"], row["path"], row["complete"], lost))
    return found


def _finding(source: int, path: str, complete: bool | None, lost: pl.DataFrame) -> Finding:
    samples = lost.filter(~pl.col("name").is_in(NOT_SAMPLES))["count"].sum()
    cut = "its end" if complete is False else ""
    missing = f"{samples:,} samples or lines" if samples else ""
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.HIGH,
        f"{path} lacks {' and '.join(part for part in (cut, missing) if part)}: an event that is "
        "not in this log may still have happened.",
        "Enlarge the trace buffer or narrow the filter, and stop the collector with SIGINT.",
        source=source,
        measures=tuple(
            Measure(row["name"].replace("_", " "), row["count"], "", "0")
            for row in lost.iter_rows(named=True)
        ),
    )


RULE = Rule(CODE, "kernel-log-incomplete", "The kernel log lacks samples.", check, __doc__)
