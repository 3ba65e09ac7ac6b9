"""A clock was stepped during the run.

What it checks
--------------
Packets of one flow direction whose timestamps run backwards by more than 1 ms, captures whose clock
jumped forward while the TCP timestamps of the hosts did not (without timestamps: while data was in
flight that nobody retransmitted), and kernel logs whose clock moved against Unix time or against
the packets during the run.

Why it matters
--------------
RTTs, queue delays and rates around the step are wrong. Samples of a log whose clock was stepped
cannot be placed beside the right packets.

Evidence
--------
`directions.clock_steps` and `clock_ahead_ns`; `stats` rows `clock_steps`; `sources.path` names the
input.

When it is wrong
----------------
A file merged from several captures out of order, or a capture from several receive queues without
ordering, looks like a stepped clock. A host that slept looks like a clock that was set forward,
since neither TCP timestamps nor retransmission timers run while it sleeps.

What to do
----------
Slew the clock instead of stepping it during a measurement (`chronyc` without `makestep`), and order
merged files with `reordercap`.

References
----------
https://www.wireshark.org/docs/man-pages/reordercap.html
"""

import polars as pl

from l4strace.core import _native
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support.clocks import REPEATED
from l4strace.schema.words import Stat
from l4strace.wording.quantities import quantity

STEP_US = _native.CLOCK_STEP_NS / 1000
"""Shorter steps back are packets out of order in the file (`track/conversation`)."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each input with steps."""
    logged = evidence.stats.filter(pl.col("name") == Stat.CLOCK_STEPS).select(
        "source", "count", "detail", backwards=pl.lit(False), ahead_ns=pl.lit(0, pl.Int64())
    )
    if logged.is_empty() and not evidence.directions["clock_steps"].max():
        return []
    packets = evidence.directions.select(
        "source",
        pl.col("clock_steps").cast(pl.UInt64).alias("count"),
        pl.lit(None, pl.String()).alias("detail"),
        backwards=pl.col("clock_steps") > 0,
        ahead_ns=pl.col("clock_ahead_ns").fill_null(0),
    )
    steps = (
        pl.concat([logged, packets], how="vertical_relaxed")
        .group_by("source")
        .agg(
            pl.col("count").max(),
            pl.col("detail").drop_nulls().first(),
            pl.col("backwards").any(),
            pl.col("ahead_ns").max(),
        )
        .filter(pl.col("count") > 0)
        .sort("source")
    )
    paths = dict(evidence.sources.select("source", "path").iter_rows())
    return [
        Finding(
            Severity.WARNING if row["count"] >= REPEATED else Severity.NOTICE,
            Confidence.MEDIUM,
            f"{paths.get(row['source'], 'An input')}: " + _what(row),
            "Slew the clock instead of stepping it, and capture each interface through one queue.",
            source=row["source"],
            measures=(Measure("clock steps", row["count"], "", "0"),),
        )
        for row in steps.iter_rows(named=True)
    ]


def _what(row: Row) -> str:
    if row["ahead_ns"] > 0:
        return (
            f"the clock of the capture was set forward by {row['ahead_ns'] / 1e9:,.1f} s in the "
            "middle of a flow; rates and delays nearby are wrong."
        )
    return _capture(row["count"]) if row["backwards"] else _log(row["detail"])


def _capture(steps: int) -> str:
    times = "once" if steps == 1 else f"{steps:,} times"
    step = quantity(STEP_US, "us")
    return (
        f"timestamps run backwards by more than {step} {times}; delays and rates nearby are wrong."
    )


def _log(detail: str | None) -> str:
    amount = f" ({detail.rstrip('.')})" if detail else ""
    return f"a clock was stepped while this log was recorded{amount}; its samples cannot be joined."


RULE = Rule.of(__name__, __doc__, check, "A clock was stepped during the run")
