"""Offloads were on during the capture.

What it checks
--------------
Receive and segmentation offloads of the captured interfaces.

Why it matters
--------------
GRO and LRO merge packets before the capture sees them: several marks become one, and a merged
packet keeps the flags of one packet only. TSO and GSO hand super-packets to the interface: the
capture does not show their spacing on the wire.

Evidence
--------
`interfaces` and their `offloads` in the host file; `directions.super_packets` shows whether the
offloads merged packets of this run.

When it is wrong
----------------
At low rates packets are too far apart to be merged. Without super-packets in the capture, the
finding is information only.

What to do
----------
`ethtool -K IF gro off lro off tso off gso off` during the measurement.

References
----------
https://github.com/L4STeam/linux/issues/21
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import hosts


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each interface."""
    if not evidence.host_files:
        return [Skipped(hosts.NONE)]
    merged = bool(evidence.directions.filter(pl.col("super_packets") > 0).height)
    return [
        Finding(
            Severity.NOTICE if merged else Severity.INFO,
            Confidence.HIGH,
            f"{hosts.name(host)}: {interface} had {', '.join(names).upper()} on during the "
            f"capture. The capture contains {'' if merged else 'no '}super-packets.",
            f"Run ethtool -K {interface} {' '.join(f'{name} off' for name in names)}",
            measures=(Measure(f"offloads of {interface}", ", ".join(names), "", "none"),),
        )
        for host in evidence.host_files
        for interface, on in hosts.offloads(host)
        if (names := [name for name in on if name in hosts.MERGING])
    ]


RULE = Rule.of(__name__, __doc__, check, "Offloads were on during the capture")
