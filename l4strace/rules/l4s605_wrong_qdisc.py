"""A queue of this host dropped packets and has no L4S AQM.

What it checks
--------------
The drop counters of the host's own qdiscs that have no L4S AQM, before and after the run.

Why it matters
--------------
The host itself is a bottleneck, and its queue cannot mark ECT(1) at a low threshold. L4S flows get
a long queue delay and losses before their packets leave the host.

Evidence
--------
`before` and `after` in the host file: `kind` and `drops` of each qdisc.

When it is wrong
----------------
Other traffic on the interface may have caused the drops. The counter also includes the drops of a
filter or policer in the qdisc.

What to do
----------
If the host is meant to be the bottleneck, use dualpi2, or fq_codel with `ce_threshold 1ms`.
Otherwise use fq, which keeps the queue short by pacing each flow.

References
----------
RFC 9332, tc-dualpi2(8), tc-fq_codel(8)
"""

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import hosts
from l4strace.wording.quantities import count

NOT_L4S = ("pfifo_fast", "pfifo", "bfifo", "codel", "pie", "red", "sfq", "tbf")
"""Qdiscs without an L4S AQM: none gives ECT(1) packets a queue or a threshold of their own
(tc(8))."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each qdisc that dropped during the run."""
    if not evidence.host_files:
        return [Skipped(hosts.NONE)]
    found: list[Finding | Skipped] = []
    for host in evidence.host_files:
        before = {
            (interface, row.get("handle"), row.get("parent")): hosts.number(row, "drops")
            for interface, rows in hosts.qdiscs(host, "before")
            for row in rows
        }
        found += [
            _finding(host, interface, str(row["kind"]), dropped)
            for interface, rows in hosts.qdiscs(host, "after")
            for row in rows
            if row.get("kind") in NOT_L4S
            and (key := (interface, row.get("handle"), row.get("parent"))) in before
            and (dropped := hosts.number(row, "drops") - before[key]) > 0
        ]
    return found


def _finding(host: hosts.Host, interface: str, kind: str, dropped: int) -> Finding:
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"{hosts.name(host)}: {kind} on {interface} dropped {count(dropped, 'packet')} during the "
        "run. This host is itself a bottleneck, without an L4S AQM.",
        f"Use fq on {interface}, or dualpi2 if the host is meant to be the bottleneck.",
        measures=(Measure(f"drops of {kind}", dropped, "", "0"),),
    )


RULE = Rule.of(__name__, __doc__, check, "This host dropped packets without an L4S AQM")
