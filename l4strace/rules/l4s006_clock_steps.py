"""The clock that stamped the packets was stepped during the capture.

What it checks
--------------
Packets of one flow direction whose time stamps run back by more than 1 ms, and kernel logs whose
clock moved against Unix time during the run.

Why it matters
--------------
RTTs, queue delays and rates around the step are wrong, and a kernel log joined by time lands on the
wrong packets.

Evidence
--------
`directions.clock_steps`, `stats` rows `clock_steps`.

When it is wrong
----------------
A file merged from several captures out of order, or a multi-queue capture without ordering, looks
like a stepped clock.

What to do
----------
Let the clock be slewed, not stepped, while measuring (`chronyc` without `makestep`), and order
merged files with `reordercap`.

References
----------
https://www.wireshark.org/docs/man-pages/reordercap.html
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import Stat

CODE = "L4S006"
REPEATED = 3
"""One or two steps spoil a few rounds, more of them the run."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each input with steps."""
    logged = evidence.stats.filter(pl.col("name") == Stat.CLOCK_STEPS).select(
        "source", "count", pl.col("detail").fill_null("It was set.")
    )
    packets = evidence.directions.select(
        "source", pl.col("clock_steps").cast(pl.UInt64).alias("count"), detail=pl.lit(None)
    )
    steps = (
        pl.concat([logged, packets], how="vertical_relaxed")
        .group_by("source")
        .agg(pl.col("count").max(), pl.col("detail").drop_nulls().first())
        .filter(pl.col("count") > 0)
        .sort("source")
    )
    paths = dict(evidence.sources.select("source", "path").iter_rows())
    return [
        Finding(
            CODE,
            Severity.WARNING if row["count"] >= REPEATED else Severity.NOTICE,
            Confidence.MEDIUM,
            f"{paths.get(row['source'], 'An input')}: {_what(row['count'], row['detail'])}",
            "Slew the clock instead of stepping it, and record all of an interface in one queue.",
            source=row["source"],
            measures=(Measure("clock steps", row["count"], "", "0"),),
        )
        for row in steps.iter_rows(named=True)
    ]


def _what(count: int, detail: str | None) -> str:
    """What the steps are: of a log's clock (``detail`` names the direction), else of packets."""
    if detail is not None:
        return f"the clock changed during the log ({detail.rstrip('.')}): its times are wrong."
    return (
        f"timestamps run back by more than 1 ms {_times(count)}: delays and rates around that "
        "are wrong."
    )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"


RULE = Rule(CODE, "clock-steps", "Time stamps run backwards.", check, __doc__)
