"""A sender over UDP waits for its next report.

What it checks
--------------
Pauses of a sender over UDP that last until a report comes, after which it goes on at once.

Why it matters
--------------
A window of rate times RTT holds no packets for the time in which the receiver collects its next
report. With reports every 25 ms at an RTT of 10 ms the sender stands still for half the time, and
uses half the link: UDP Prague with block acknowledgements does so.

Evidence
--------
`directions.report_waits`, `report_wait_us`, `reports`, `report_interval_us` and `rtt_mean_us` from
the capture nearest to the sender; `flows.first_ns` and `last_ns`.

When it is wrong
----------------
An application that answers each report with a burst of its own, and has nothing else to send, looks
the same.

What to do
----------
Let the receiver report more often than once a round trip (RFC 8888 section 3.3 names 5 % of the
bandwidth), or add the time between reports to the RTT from which the window is computed.

References
----------
RFC 8888 section 3.3, `udp_prague_receiver.cpp` (L4STeam/udp_prague, option --rfc8888)
"""

import polars as pl

from l4strace.derive.vantage import nearest
from l4strace.evidence import Evidence, Row, traffic
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.schema.keys import KEY
from l4strace.wording.quantities import quantity, share

MIN_REPORTS = 20
"""Fewer are the start of a flow, whose window is small. By eye."""
MOST_REPORTS = 0.5
"""Share of the reports before which the sender pauses: the rule of the flow, not an exception."""
MIN_WAITED = 0.2
"""Share of the time that the pauses take: a fifth of the link. By eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction over UDP whose sender waits."""
    known = traffic(evidence)
    near = known.directions.join(nearest(known), on=KEY, how="semi")
    # Reports of a stretch of time are not counted: those of the flow, over its time.
    lasts = known.flows.select("source", "flow", "first_ns", "last_ns")
    counted = (
        near.filter(pl.col("reports") >= MIN_REPORTS)
        .select(
            *KEY, "reports", "report_waits", "report_wait_us", "report_interval_us", "rtt_mean_us"
        )
        .join(lasts, on=["source", "flow"])
    )
    lasted_us = (pl.col("last_ns") - pl.col("first_ns")) / 1e3
    rows = counted.with_columns(waited=pl.col("report_wait_us") / lasted_us).filter(
        pl.col("report_waits") >= MOST_REPORTS * pl.col("reports"),
        pl.col("waited") >= MIN_WAITED,
    )
    return [_finding(row) for row in rows.iter_rows(named=True)]


def _finding(row: Row) -> Finding:
    waited, interval = share(row["waited"]), quantity(row["report_interval_us"], "us")
    rtt = (
        ""
        if row["rtt_mean_us"] is None
        else f", and the RTT is {quantity(row['rtt_mean_us'], 'us')}"
    )
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"The sender stands still for {waited} of its time (threshold {share(MIN_WAITED)}): before "
        f"{row['report_waits']:,} of {row['reports']:,} reports nothing may leave, and data "
        f"follows each of them at once. Reports come every {interval}{rtt}.",
        "Report more often than once a round trip, or add the report interval to the RTT of the "
        "window.",
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("time without sending", row["waited"], "share", f"below {share(MIN_WAITED)}"),
            Measure("time between reports", row["report_interval_us"], "us"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The sender waits for its feedback", over_udp=True)
