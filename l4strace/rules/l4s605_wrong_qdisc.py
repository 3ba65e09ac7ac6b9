"""A queue on this host dropped packets and is no L4S queue.

What it checks
--------------
The drop counters of the host's own qdiscs before and after the run, by kind of qdisc.

Why it matters
--------------
The host itself was a bottleneck, and its queue cannot mark ECT(1) at a shallow threshold: L4S flows
get deep queues and losses before their packets even leave.

Evidence
--------
`before` and `after` in the host file: `drops` of each qdisc.

When it is wrong
----------------
Other traffic on the interface may have caused the drops. A filter or policer in a qdisc counts its
drops there too.

What to do
----------
If the host is meant to be the bottleneck, give it DualPI2, or fq_codel with `ce_threshold 1ms`.
Otherwise use fq, whose per-flow pacing keeps its queue empty.

References
----------
RFC 9332, tc-dualpi2(8), tc-fq_codel(8)
"""

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import hosts

CODE = "L4S605"
NOT_L4S = ("pfifo_fast", "pfifo", "bfifo", "codel", "pie", "red", "sfq", "tbf")


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each qdisc that dropped during the run."""
    if not evidence.hosts:
        return [Skipped(CODE, "no host file (STEM.host.json)")]
    said: list[Finding | Skipped] = []
    for host in evidence.hosts:
        before = {
            (interface, row.get("handle"), row.get("parent")): hosts.number(row, "drops")
            for interface, rows in hosts.qdiscs(host, "before")
            for row in rows
        }
        said += [
            _finding(host, interface, str(row["kind"]), dropped)
            for interface, rows in hosts.qdiscs(host, "after")
            for row in rows
            if row.get("kind") in NOT_L4S
            and (key := (interface, row.get("handle"), row.get("parent"))) in before
            and (dropped := hosts.number(row, "drops") - before[key]) > 0
        ]
    return said


def _finding(host: hosts.Host, interface: str, kind: str, dropped: int) -> Finding:
    return Finding(
        CODE,
        Severity.WARNING,
        Confidence.MEDIUM,
        f"{hosts.name(host)}: {kind} at {interface} dropped {dropped:,} packets during the run: "
        "the host itself is a bottleneck, and not an L4S one.",
        f"Give {interface} fq, or dualpi2 if it is meant to be the bottleneck.",
        measures=(Measure(f"drops of {kind}", dropped, "", "0"),),
    )


RULE = Rule(CODE, "wrong-qdisc", "A queue here dropped and is no L4S queue.", check, __doc__)
