"""Prague sends through an interface without fq.

What it checks
--------------
The root qdisc of the captured interfaces on a host that runs Prague.

Why it matters
--------------
An L4S queue is a millisecond deep: a burst that the sender did not space fills it and is marked
(RFC 9331 section 4.3). fq paces each flow in the qdisc, exactly and cheaply; without it TCP paces
with its own timers, which are coarser under load.

Evidence
--------
`before.interfaces` of the host file; `sysctls` and `sockets` for the congestion control.

When it is wrong
----------------
TCP's internal pacing is good enough on an idle host: look at L4S206 (bursts) before changing
anything. Virtual interfaces have no queue and need none when the physical one below has fq.

What to do
----------
`tc qdisc replace dev IF root fq`, or `net.core.default_qdisc=fq` for all.

References
----------
RFC 9331 section 4.3, tc-fq(8)
"""

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import hosts

CODE = "L4S601"
UNPACED = ("pfifo_fast", "pfifo", "bfifo", "fq_codel", "noqueue")


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each interface of a Prague host."""
    if not evidence.hosts:
        return [Skipped(CODE, "no host file (STEM.host.json)")]
    return [
        Finding(
            CODE,
            Severity.NOTICE,
            Confidence.MEDIUM,
            f"{hosts.name(host)}: Prague runs here, and {interface} has {', '.join(kinds)} instead "
            "of fq: pacing is left to TCP's own timers.",
            f"tc qdisc replace dev {interface} root fq",
            measures=(Measure(f"qdisc of {interface}", ", ".join(kinds), "", "fq"),),
        )
        for host in evidence.hosts
        if hosts.runs_prague(host)
        for interface, rows in hosts.qdiscs(host, "before")
        if (kinds := sorted({str(row.get("kind")) for row in rows}))
        and "fq" not in kinds
        and set(kinds) & set(UNPACED)
    ]


RULE = Rule(CODE, "no-fq-under-prague", "Prague without the fq qdisc.", check, __doc__)
