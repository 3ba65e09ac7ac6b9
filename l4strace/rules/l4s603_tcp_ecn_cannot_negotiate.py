"""The host's tcp_ecn setting excludes AccECN.

What it checks
--------------
`net.ipv4.tcp_ecn` on the hosts of the run, where no flow negotiated AccECN.

Why it matters
--------------
L4S needs AccECN at both ends. With 0, 1 or 2 a host neither requests nor accepts it, and Prague
falls back to a Reno-like controller without L4S.

Evidence
--------
`sysctls` of the host file; `flows.mode` and `syn_ace`.

When it is wrong
----------------
A congestion control with the kernel's AccECN flag (TCP_CONG_NEEDS_ACCECN) negotiates AccECN
whatever the sysctl is. If any flow of the run has AccECN, this rule is silent.

What to do
----------
`sysctl net.ipv4.tcp_ecn=3` at both ends (4 or 5 on a host that only accepts connections). It needs
Linux 7.0 or an L4S kernel: Linux 6.18 has AccECN, but answers "Invalid argument".

References
----------
RFC 9768 section 3.1, include/net/tcp_ecn.h (enum tcp_ecn_mode) and
Documentation/networking/ip-sysctl.rst of Linux
"""

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import hosts
from l4strace.schema.words import ACCECN_REQUEST

ACCURATE = 3
"""Values from here on accept AccECN (TCP_ECN_IN_ACCECN_OUT_ACCECN in include/net/tcp_ecn.h)."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each host whose setting excludes AccECN."""
    if not evidence.host_files:
        return [Skipped(hosts.NONE)]
    if evidence.flows.filter(pl.col("mode") == "accecn").height:
        return []
    requested = evidence.flows.filter(pl.col("syn_ace") == ACCECN_REQUEST).height > 0
    return [
        Finding(
            Severity.WARNING if requested or hosts.runs_prague(host) else Severity.INFO,
            Confidence.HIGH,
            f"{hosts.name(host)}: net.ipv4.tcp_ecn is {value}, with which this host neither "
            "requests nor accepts AccECN.",
            "Run sysctl net.ipv4.tcp_ecn=3 at both ends (Linux 7.0 or an L4S kernel).",
            measures=(Measure("net.ipv4.tcp_ecn", value, "", "3"),),
        )
        for host in evidence.host_files
        if (value := hosts.sysctl(host, "net.ipv4.tcp_ecn")) is not None and value < ACCURATE
    ]


RULE = Rule.of(__name__, __doc__, check, "This host's tcp_ecn setting excludes AccECN")
