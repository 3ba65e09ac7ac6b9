"""The path delivers packets out of order.

What it checks
--------------
The share of data packets that arrive behind later ones: as a capture behind the reordering saw
them, or as the receiver's SACKs reported them to any capture. From 0.1 % and ten packets on.

Why it matters
--------------
A sender takes packets that arrive late for lost: it retransmits them and backs off without
congestion. L4S senders may be held to a time instead of three duplicate ACKs, and need it here.

Evidence
--------
`noise.late_packets` and `late_share`; of the flows of one `noise.path`, the one with most. What
ACKs show is a lower bound, where no capture has as many `directions.out_of_order`.

When it is wrong
----------------
A capture on a host with several receive queues can show packets in another order than the wire. A
late packet that the sender retransmitted in the meantime counts only behind the reordering.

What to do
----------
Find the link that stripes or retransmits below IP. Check that the sender uses RACK (tcp_recovery).

References
----------
RFC 9331 section 4.3 (loss detection in units of time); RFC 8985 (RACK); RFC 4737
"""

import polars as pl

from l4strace.derive.noise import REORDERED
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import subjects
from l4strace.schema.keys import PATH
from l4strace.wording.quantities import count, share

MIN_PACKETS = 10
"""Late packets that are noted, where they are REORDERED of all, too. By eye: a retransmission that
crosses its original is one packet."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each path with late packets, on the flow that has most."""
    late = subjects.noise(evidence).filter(
        (pl.col("late_packets") >= MIN_PACKETS) & (pl.col("late_share") >= REORDERED)
    )
    late = late.sort("late_packets", *subjects.DIRECTION, descending=[True, False, False])
    most = late.with_columns(flows=pl.col("flow").n_unique().over(PATH)).unique(
        PATH, keep="first", maintain_order=True
    )
    seen = evidence.directions.group_by(subjects.DIRECTION).agg(pl.col("out_of_order").max())
    known = most.join(seen, on=subjects.DIRECTION, how="left", maintain_order="left")
    return [_finding(row) for row in known.iter_rows(named=True)]


def _finding(row: Row) -> Finding:
    more = row["flows"] - 1
    # ACKs report some of them; a capture behind the reordering has them all.
    bound = "at least " if row["late_packets"] > (row["out_of_order"] or 0) else ""
    whose = f" of flow {row['flow']}" if more else ""
    alike = f", and so did packets of {count(more, 'more flow')}" if more else ""
    return Finding(
        Severity.NOTICE,
        Confidence.MEDIUM,
        f"The path reorders packets: {bound}{count(row['late_packets'], 'data packet')} "
        f"({share(row['late_share'])}){whose} arrived behind later ones{alike}.",
        "Find the link that stripes or retransmits below IP; check that the sender uses RACK.",
        **direction_of(row),
        measures=(
            Measure(f"late packets{bound and ', at least'}", row["late_packets"], "packet"),
            Measure(
                "share of late packets", row["late_share"], "share", f"below {share(REORDERED)}"
            ),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The path reorders packets")
