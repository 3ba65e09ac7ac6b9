"""The host's tcp_ecn setting cannot negotiate AccECN.

What it checks
--------------
`net.ipv4.tcp_ecn` on hosts of the run, against whether any flow got AccECN.

Why it matters
--------------
L4S needs AccECN at both ends. With 0, 1 or 2 a host neither asks for it nor answers it, and Prague
has to switch itself off.

Evidence
--------
`sysctls` of the host file, `flows.mode`.

When it is wrong
----------------
Congestion controls with the kernel's AccECN flag negotiate it whatever the sysctl says: when a flow
of the run has AccECN, this rule is silent.

What to do
----------
`sysctl net.ipv4.tcp_ecn=3` on both ends (4 or 5 on a host that only answers). Kernels before 6.18
without the AccECN patches refuse that value.

References
----------
RFC 9768 section 3.1, Documentation/networking/ip-sysctl.rst of Linux
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import hosts

CODE = "L4S603"
ACCURATE = 3
"""Values from here on accept AccECN."""
REQUEST = 0b111


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each host whose setting stands in the way."""
    if not evidence.hosts:
        return [Skipped(CODE, "no host file (STEM.host.json)")]
    if evidence.flows.filter(pl.col("mode") == "accecn").height:
        return []
    wanted = evidence.flows.filter(pl.col("syn_ace") == REQUEST).height > 0
    return [
        Finding(
            CODE,
            Severity.WARNING if wanted or hosts.runs_prague(host) else Severity.INFO,
            Confidence.HIGH,
            f"{hosts.name(host)}: net.ipv4.tcp_ecn is {value}: this host can neither ask for "
            "AccECN nor answer it.",
            "sysctl net.ipv4.tcp_ecn=3 on both ends.",
            measures=(Measure("net.ipv4.tcp_ecn", value, "", "3"),),
        )
        for host in evidence.hosts
        if (value := hosts.sysctl(host, "net.ipv4.tcp_ecn")) is not None and value < ACCURATE
    ]


RULE = Rule(CODE, "tcp-ecn-cannot-negotiate", "tcp_ecn rules AccECN out.", check, __doc__)
