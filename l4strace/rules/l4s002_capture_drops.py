"""The capturing host dropped packets before they reached the file.

What it checks
--------------
The drop counters that a pcapng file carries for each interface.

Why it matters
--------------
A packet that the capture missed looks like a loss, a reordering or a missing mark. Counts of CE,
retransmissions and in-flight data are then lower bounds.

Evidence
--------
`stats` rows `capture_drops` (pcapng interface statistics: `isb_ifdrop` and `isb_osdrop`).

When it is wrong
----------------
Counters are per interface, not per filter: a drop may have hit traffic that is of no interest.
Classic pcap has no place for the count, so this rule says nothing about such files.

What to do
----------
Capture with a shorter snapshot length, a larger buffer (`-B`) or a narrower filter.

References
----------
https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import Stat

CODE = "L4S002"
MANY = 0.001
"""Share of lost packets from which counts of single marks mean little."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each input whose counters say that packets are missing."""
    said: list[Finding | Skipped] = []
    counted = evidence.stats.filter(pl.col("name") == Stat.CAPTURE_DROPS)
    drops = dict(counted.group_by("source").agg(pl.col("count").sum()).iter_rows())
    for row in evidence.sources.iter_rows(named=True):
        lost = drops.get(row["source"])
        if lost:
            said.append(_finding(row["source"], row["path"], lost, row["records"] or 0))
        elif lost is None and row["kind"] == "pcap":
            said.append(
                Skipped(CODE, "classic pcap has no place for the number of dropped packets")
            )
    return said


def _finding(source: int, path: str, lost: int, seen: int) -> Finding:
    share = lost / (lost + seen)
    return Finding(
        CODE,
        Severity.WARNING if share >= MANY else Severity.NOTICE,
        Confidence.HIGH,
        f"{path}: the capture dropped {lost:,} packets: losses and missing marks may be its own.",
        "Capture with -s 128, a larger buffer or a narrower filter.",
        source=source,
        measures=(
            Measure("dropped by the capture", lost, "", "0"),
            Measure("share of all", 100 * share, "%"),
        ),
    )


RULE = Rule(CODE, "capture-drops", "The capture itself lost packets.", check, __doc__)
