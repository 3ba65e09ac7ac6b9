"""A Prague sender in user space reduces without a mark.

What it checks
--------------
Whether the sender's log shows at least 5 reductions with neither CE nor a lost packet from two
round trips before to one behind.

Why it matters
--------------
Each such reduction gives capacity away that no queue asked for. Where alpha decays slowly after
heavy marks the window goes on falling for tens of round trips, and the link stays empty.

Evidence
--------
`udp_kernel.frac_cwnd`, `delivered_ce`, `lost_packets`, `srtt_us` and `alpha` of a qlog that states
alpha; `snd_cwnd`, `rs_rtt_us` and `cc` of UDP Prague's log (-v), whose window in whole packets
falls by nothing else. Not judged are its reports (-j), which are further apart than two round
trips, its log with block acknowledgements, which states no RTT, and its flows with an RTT up to
2 ms, whose window is a rate times the RTT. Other controllers may reduce by what they measure of
rate and delay (BBR, SCReAM).

When it is wrong
----------------
If the log leaves out losses or ACKs. Its window may also fall after a pause of the application
(RFC 9002 section 7.8), which is then no fault.

What to do
----------
Reduce only in rounds in which the count of CE grew; let alpha decay in the others.

References
----------
RFC 9331 section 4.3; RFC 8257 section 3.3; picoquic, prague.c (reduces in each round with ECT(1) or
CE)
"""

import polars as pl

from l4strace.derive.senders import logged
from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import datagrams
from l4strace.schema.keys import KEY
from l4strace.wording.moments import moment
from l4strace.wording.quantities import share

MIN_REDUCTIONS = 5
"""Changes of the largest packet move a window that is counted in such, once or twice a flow. By
eye."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each logged direction with reductions that nothing explains."""
    scalable = logged.prague(evidence)
    if scalable.is_empty():
        return [Skipped("no log of a Prague sender in user space")]
    shown = scalable.join(logged.windows(evidence), on=KEY, how="semi")
    if shown.is_empty():
        return [Skipped(datagrams.UNSTATED)]
    made = logged.reductions(evidence).join(shown, on=KEY, how="semi")
    unexplained = pl.col("cause").is_null()
    counted = made.group_by(KEY, maintain_order=True).agg(
        made=pl.len(),
        idle=unexplained.sum(),
        fraction=pl.col("fraction").filter(unexplained).median(),
        first_ns=pl.col("ts_ns").filter(unexplained).min(),
        last_ns=pl.col("ts_ns").filter(unexplained).max(),
    )
    rows = counted.filter(pl.col("idle") >= MIN_REDUCTIONS)
    return [_finding(evidence, row) for row in rows.iter_rows(named=True)]


def _finding(evidence: Evidence, row: Row) -> Finding:
    return Finding(
        Severity.NOTICE,
        Confidence.MEDIUM,
        f"The sender's log shows {row['idle']:,} of {row['made']:,} reductions of the window "
        f"(threshold {MIN_REDUCTIONS}), first at {moment(evidence, row['first_ns'])}, with neither "
        f"CE nor loss in the two round trips before: by {share(row['fraction'])} each (median).",
        "Reduce only in rounds in which the count of CE grew; let alpha decay in the others.",
        **direction_of(row),
        span_ns=(row["first_ns"], row["last_ns"]),
        measures=(
            Measure("reductions without a cause", row["idle"], "", f"below {MIN_REDUCTIONS}"),
            Measure("median of these", row["fraction"], "share", "0"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The sender reduces without a mark")
