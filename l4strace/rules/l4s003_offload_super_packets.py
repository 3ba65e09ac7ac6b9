"""Packets are larger than the MSS allows.

What it checks
--------------
Whether packets carry more payload than the MSS that the other side allowed.

Why it matters
--------------
A super-packet stands for several packets on the wire. Receive offload may merge packets with and
without CE or repeat CWR. Segmentation offload hides the pacing. Bursts and codepoints then describe
the host's stack, not the path. Shares of CE marks and retransmissions are of packets on the wire,
as many as carry the payload.

Evidence
--------
`directions.super_packets`, `data_packets`, `data_segments` and `max_payload`.

When it is wrong
----------------
An endpoint could exceed the MSS option after it learned a larger path MTU. No common stack does so.

What to do
----------
Switch GRO, LRO, TSO and GSO off while you count marks (`ethtool -K IF gro off lro off tso off gso
off`), or capture in the middle of the path.

References
----------
https://github.com/L4STeam/linux/issues/21
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.wording.quantities import count

NOTICEABLE_SHARE = 0.01
"""Share of super-packets from which counts differ noticeably. By eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each flow direction with super-packets."""
    found = evidence.directions.filter(
        (pl.col("super_packets") > 0)
        & (pl.col("super_packets") >= NOTICEABLE_SHARE * pl.col("data_packets"))
    )
    return [_finding(row) for row in found.iter_rows(named=True)]


def _finding(row: dict[str, int]) -> Finding:
    return Finding(
        Severity.NOTICE,
        Confidence.HIGH,
        f"{row['super_packets']:,} of {count(row['data_packets'], 'data packet')} "
        f"{'is' if row['super_packets'] == 1 else 'are'} larger than the "
        "receiver's MSS: offload merged them, or had not split them yet. Bursts and gaps differ "
        "from those on the wire; marks and retransmissions are counted as packets on the wire "
        f"({row['data_segments']:,}).",
        "Switch GRO, LRO, TSO and GSO off for the measurement, or capture on the path.",
        **direction_of(row),
        measures=(
            Measure("super-packets", row["super_packets"], "", "0"),
            Measure("largest payload", row["max_payload"], "byte"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "Offload merged packets in the capture")
