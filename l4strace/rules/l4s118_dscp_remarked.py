"""The path rewrites the DSCP of packets.

What it checks
--------------
With captures at both ends: packets of a direction that arrive with another DiffServ codepoint than
they left with. Where the ECN field is cleared as well, L4S104 says it.

Why it matters
--------------
The low-latency queue of access networks takes NQB traffic (DSCP 45) beside ECT(1). A DSCP that is
rewritten sends it to another queue, and a node that rewrites DSCP by the whole former ToS byte
clears ECN too.

Evidence
--------
`paths.dscp_changed` of `matched`, against `lost`; `directions.dscp` near the sender and near the
receiver.

When it is wrong
----------------
Networks may map DSCPs at their borders (RFC 2475): that is allowed, and often agreed upon. It is a
fault only for traffic that depends on its DSCP, such as NQB.

What to do
----------
Ask the network between the captures which DSCPs it keeps; NQB needs 45 up to the access network.

References
----------
RFC 2474 section 3, RFC 9956
"""

import polars as pl

from l4strace.evidence import Evidence, Row, traffic
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import paths
from l4strace.schema.keys import DIRECTION
from l4strace.schema.words import NQB
from l4strace.wording.names import dscp
from l4strace.wording.quantities import count

FEW_PACKETS = 10
"""Packets that make it a rule of the path. By eye: handshakes have fewer."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose DSCP changes on the way."""
    if evidence.paths.is_empty():
        return [Skipped("needs captures at both ends of the path")]
    rows = evidence.paths.filter(
        paths.changed(evidence, pl.col("dscp_changed")), pl.col("dscp_changed") >= FEW_PACKETS
    )
    seen = traffic(evidence).directions.select("source", *DIRECTION, "dscp")
    for end in ("near", "far"):
        ours = seen.rename({"source": end, "dscp": f"dscp_{end}"})
        rows = rows.join(ours, on=[end, *DIRECTION], how="left")
    return [_finding(row) for row in rows.to_dicts()]


def _finding(row: Row) -> Finding:
    left, arrived = row["dscp_near"], row["dscp_far"]
    what = f"most left as {dscp(left)} and arrived as {dscp(arrived)}"
    if left == arrived:
        what = f"most keep {dscp(left)}"
    return Finding(
        Severity.WARNING if left == NQB and arrived != NQB else Severity.NOTICE,
        Confidence.HIGH,
        f"The path rewrites the DSCP of {row['dscp_changed']:,} of "
        f"{count(row['matched'], 'packet')}: {what}.",
        "Ask the network between the captures which DSCPs it keeps.",
        **direction_of(row),
        measures=(Measure("packets with another DSCP", row["dscp_changed"], "", "0"),),
    )


RULE = Rule.of(__name__, __doc__, check, "The path rewrites the DSCP")
