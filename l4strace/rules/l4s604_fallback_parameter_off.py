"""Prague's classic-ECN fallback is switched off.

What it checks
--------------
The module parameter `prague_ecn_fallback` on hosts that run a Prague with a fallback.

Why it matters
--------------
Behind a classic AQM with a single queue, a scalable sender takes several times the share of a
classic one. The fallback prevents this. Every published version has it off by default (0); with 2,
Prague detects a classic AQM and does not back off more.

Evidence
--------
`modules`, `tcp_prague` and its `parameters` in the host file; `sysctls` and `sockets` for the
congestion control.

When it is wrong
----------------
Where every bottleneck is known to have an L4S AQM or per-flow queues, the fallback may be off on
purpose. Prague for kernel 6.1 and later does not have this parameter; L4S306 reports that.

What to do
----------
`echo 1 > /sys/module/tcp_prague/parameters/prague_ecn_fallback`, on a build without the scaling bug
(L4S302).

References
----------
RFC 9331 section 4.3, tcp_prague.c of L4STeam/linux (description of the parameter)
"""

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import hosts

PARAMETER = "prague_ecn_fallback"
MEANING = {"0": "is off", "2": "detects a classic AQM but does not act"}


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each Prague host."""
    if not evidence.host_files:
        return [Skipped(hosts.NONE)]
    return [
        Finding(
            Severity.NOTICE,
            Confidence.HIGH,
            f"{hosts.name(host)}: Prague's classic-ECN fallback {MEANING[value]} "
            f"({PARAMETER}={value}). Behind a classic AQM Prague takes more than its share.",
            f"Run echo 1 > /sys/module/tcp_prague/parameters/{PARAMETER}",
            measures=(Measure(PARAMETER, value, "", "1"),),
        )
        for host in evidence.host_files
        if hosts.runs_prague(host) and (value := hosts.prague_parameter(host, PARAMETER)) in MEANING
    ]


RULE = Rule.of(__name__, __doc__, check, "Prague's classic-ECN fallback does not act")
