"""A host that runs Prague has an interface without fq.

What it checks
--------------
The qdiscs of the captured interfaces on a host that runs Prague, as they were before the run.

Why it matters
--------------
An L4S AQM marks at about 1 ms of queue delay. A burst that the sender did not pace fills the queue
and is marked (RFC 9331 section 4.3). fq paces each flow in the qdisc, with little jitter and little
CPU time. Without fq, TCP paces with its own timers, which are less precise under load.

Evidence
--------
`before` and its `interfaces` in the host file; `sysctls` and `sockets` for the congestion control.

When it is wrong
----------------
TCP's internal pacing is good enough on an idle host: check L4S206 (bursts) before you change the
qdisc. A virtual interface without a queue does not need fq if the physical interface below has it.

What to do
----------
`tc qdisc replace dev IF root fq`, or `net.core.default_qdisc=fq` for all interfaces.

References
----------
RFC 9331 section 4.3, tc-fq(8)
"""

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import hosts

UNPACED = ("pfifo_fast", "pfifo", "bfifo", "fq_codel", "noqueue")
"""Qdiscs that do not pace; fq honors the pacing rate of each socket (tc-fq(8))."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each interface of a Prague host."""
    if not evidence.host_files:
        return [Skipped(hosts.NONE)]
    return [
        Finding(
            Severity.NOTICE,
            Confidence.MEDIUM,
            f"{hosts.name(host)}: this host runs Prague, but the qdisc of {interface} is "
            f"{', '.join(kinds)} and not fq, so TCP paces with its own, less precise timers.",
            f"Run tc qdisc replace dev {interface} root fq",
            measures=(Measure(f"qdisc of {interface}", ", ".join(kinds), "", "fq"),),
        )
        for host in evidence.host_files
        if hosts.runs_prague(host)
        for interface, rows in hosts.qdiscs(host, "before")
        if (kinds := sorted({str(row.get("kind")) for row in rows}))
        and "fq" not in kinds
        and set(kinds) & set(UNPACED)
    ]


RULE = Rule.of(__name__, __doc__, check, "Prague runs on an interface without fq")
