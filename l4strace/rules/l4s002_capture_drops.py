"""The capture itself dropped packets.

What it checks
--------------
The drop counters that a pcapng file carries for each interface.

Why it matters
--------------
A packet that the capture missed looks like a loss, a reordering or a missing mark. Counts of CE and
retransmissions are then lower bounds.

Evidence
--------
`stats` rows `capture_drops` (isb_ifdrop and isb_osdrop of the pcapng Interface Statistics Block);
`sources.kind` and `records`.

When it is wrong
----------------
The counters are per interface, not per filter: the dropped packets may belong to other traffic.
Classic pcap cannot store the counters, so this rule cannot judge such files.

What to do
----------
Capture with a shorter snapshot length, a larger buffer (`-B`) or a narrower filter.

References
----------
https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-03.html (section 4.6)
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.schema.words import Stat
from l4strace.wording.quantities import count

WARNING_SHARE = 0.001
"""Share of dropped packets that makes the finding a warning. By eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each input whose counters report dropped packets."""
    found: list[Finding | Skipped] = []
    counted = evidence.stats.filter(pl.col("name") == Stat.CAPTURE_DROPS)
    drops = dict(counted.group_by("source").agg(pl.col("count").sum()).iter_rows())
    for row in evidence.sources.iter_rows(named=True):
        lost = drops.get(row["source"])
        if lost:
            found.append(_finding(row["source"], row["path"], lost, row["records"] or 0))
        elif lost is None and row["kind"] == "pcap":
            found.append(Skipped("classic pcap cannot store the number of dropped packets"))
    return found


def _finding(source: int, path: str, lost: int, seen: int) -> Finding:
    share = lost / (lost + seen)
    return Finding(
        Severity.WARNING if share >= WARNING_SHARE else Severity.NOTICE,
        Confidence.HIGH,
        f"{path}: the capture dropped {count(lost, 'packet')}. A loss or a missing mark in this "
        "file may be an artifact of the capture.",
        "Capture with -s 128, a larger buffer or a narrower filter.",
        source=source,
        measures=(
            Measure("dropped by the capture", lost, "", "0"),
            Measure("share of all", 100 * share, "%"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The capture dropped packets")
