"""Packets over UDP leave their sender with CE.

What it checks
--------------
Directions over UDP with CE packets in a capture that stood at their sender.

Why it matters
--------------
These marks are not those of the path. Some stacks send CE on purpose, one packet in 10 to 100 round
trips, to see whether their peer reports CE (s2n-quic). Whoever compares the receiver's count of CE
with the marks of the bottleneck finds it higher by these packets.

Evidence
--------
`directions.ce`, `first_ce_frame` and `first_ce_ns`, against `directions.packets`, where
`flows.vantage` is the sender; `flows.transport`.

When it is wrong
----------------
A capture on the sending host shows packets behind the host's own queue: a qdisc that marks makes
the same picture. `tc -s qdisc` shows whether one does. A tunnel copies the CE of the flow that it
carries (RFC 6040): what runs over plain UDP is not judged.

What to do
----------
Nothing where the stack probes. Else look for the queue of the host that marks.

References
----------
RFC 9000 section 13.4.2 (validation), RFC 9331 section 4.2
"""

import polars as pl

from l4strace.derive.vantage import at_sender, once
from l4strace.evidence import Evidence, Row, traffic
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support.tried import VALIDATING
from l4strace.wording.quantities import count, share

PROBES = 0.1
"""Share of CE up to which a stack may probe: s2n-quic sends one packet in 10 round trips at most,
and a round trip has at least one."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction over UDP with CE at its sender."""
    known = traffic(evidence)
    places = known.flows.filter(pl.col("transport").is_in(VALIDATING)).select(
        "source", "flow", "vantage"
    )
    near = once(known, known.directions.filter(pl.col("ce") > 0))
    rows = near.join(places, on=["source", "flow"]).filter(at_sender())
    return [_finding(row) for row in rows.to_dicts()]


def _finding(row: Row) -> Finding:
    queue = "a queue of its host, in front of the capture, marks them"
    cause = f"The stack probes whether its peer reports CE, or {queue}."
    if row["ce"] > PROBES * row["packets"]:
        cause = f"So many are no probe (threshold {share(PROBES)} of the packets): {queue}."
    return Finding(
        Severity.INFO,
        Confidence.MEDIUM,
        f"{row['ce']:,} of {count(row['packets'], 'packet')} leave the sender with CE. {cause}",
        "Compare with `tc -s qdisc` of the sender; do not count these marks as the path's.",
        **direction_of(row),
        span_ns=(row["first_ce_ns"], row["last_ns"]),
        frames=(row["first_ce_frame"],),
        measures=(Measure("CE packets at the sender", row["ce"], "packet", "0"),),
    )


RULE = Rule.of(__name__, __doc__, check, "Packets leave their sender with CE", over_udp=True)
