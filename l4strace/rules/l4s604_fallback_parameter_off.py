"""Prague's classic-ECN fallback is switched off.

What it checks
--------------
The module parameter `prague_ecn_fallback` of hosts that run Prague with a fallback.

Why it matters
--------------
Behind a classic AQM in a single queue a scalable sender takes several times the share of a classic
one. The fallback is what prevents that, and every published version comes with it off (0); 2
detects and does not act.

Evidence
--------
`modules.tcp_prague.parameters` of the host file.

When it is wrong
----------------
In a network that is known to have L4S or per-flow queues at every bottleneck it may be off by
intent. Kernels from 6.1 on have no such parameter: L4S306 says so.

What to do
----------
`echo 1 > /sys/module/tcp_prague/parameters/prague_ecn_fallback`, on a build without the scaling bug
(L4S302).

References
----------
RFC 9331 section 4.3, reference of the parameter in tcp_prague.c
"""

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import hosts

CODE = "L4S604"
PARAMETER = "prague_ecn_fallback"
MEANING = {"0": "off", "2": "detecting only, without acting"}


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each Prague host."""
    if not evidence.hosts:
        return [Skipped(CODE, "no host file (STEM.host.json)")]
    return [
        Finding(
            CODE,
            Severity.NOTICE,
            Confidence.HIGH,
            f"{hosts.name(host)}: the classic-ECN fallback is {MEANING[value]} "
            f"({PARAMETER}={value}): behind a classic AQM Prague takes more than its share.",
            f"echo 1 > /sys/module/tcp_prague/parameters/{PARAMETER}",
            measures=(Measure(PARAMETER, value, "", "1"),),
        )
        for host in evidence.hosts
        if hosts.runs_prague(host) and (value := hosts.prague_parameter(host, PARAMETER)) in MEANING
    ]


RULE = Rule(CODE, "fallback-parameter-off", "The classic-ECN fallback is off.", check, __doc__)
