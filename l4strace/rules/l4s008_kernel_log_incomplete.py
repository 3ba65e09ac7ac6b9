"""The kernel log lost samples, or was cut short.

What it checks
--------------
Whether the log ends with its trailer, and how many samples the collector's ring or the tracing
buffer lost.

Why it matters
--------------
The detector is replayed step by step: a missing sample breaks the chain, and a residue that names
the build needs two samples around one update. A missing sample must not pass for a missing event.

Evidence
--------
`sources.complete` of logs, `stats` rows of severity `loss` or `error` of those inputs.

When it is wrong
----------------
Formats without a trailer (tracefs text, `ss` logs) cannot show that their end is missing.

What to do
----------
Enlarge the buffer (`buffer_size_kb`), narrow the port filter, or record fewer events.

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
"""By L4S006 and L4S009: nothing is missing from such a log."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each log that lacks something."""
    logs = evidence.sources.filter(~pl.col("kind").is_in([*CAPTURES, "host"]))
    said: list[Finding | Skipped] = []
    for row in logs.iter_rows(named=True):
        lost = evidence.stats.filter(
            (pl.col("source") == row["source"])
            & (pl.col("count") > 0)
            & pl.col("severity").is_in(["loss", "error"])
            & ~pl.col("name").is_in(REPORTED_ELSEWHERE)
        )
        if lost.height or row["complete"] is False:
            said.append(_finding(row["source"], row["path"], row["complete"], lost))
    return said


def _finding(source: int, path: str, complete: bool | None, lost: pl.DataFrame) -> Finding:
    cut = "ends without its trailer" if complete is False else ""
    missing = f"lacks {lost['count'].sum():,} samples or lines" if lost.height else ""
    return Finding(
        CODE,
        Severity.NOTICE,
        Confidence.HIGH,
        f"{path} {' and '.join(part for part in (cut, missing) if part)}: "
        "what it does not show may still have happened.",
        "Enlarge the trace buffer or narrow the filter, and stop the collector with SIGINT.",
        source=source,
        measures=tuple(
            Measure(row["name"].replace("_", " "), row["count"], "", "0")
            for row in lost.iter_rows(named=True)
        ),
    )


RULE = Rule(CODE, "kernel-log-incomplete", "The kernel log lacks samples.", check, __doc__)
