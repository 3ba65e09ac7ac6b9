"""The host does not send the AccECN option.

What it checks
--------------
`net.ipv4.tcp_ecn_option` on the hosts of the run.

Why it matters
--------------
Without the option the sender has only the three bits of ACE. When ACKs are lost or thinned, it must
assume the worst case and may count more marks than there were.

Evidence
--------
`sysctls` of the host file.

When it is wrong
----------------
On a path that drops packets with unknown options, it may be off on purpose.

What to do
----------
`sysctl net.ipv4.tcp_ecn_option=2` (the option on change, and at least three times per round trip).

References
----------
RFC 9768 section 3.2.3, include/net/tcp_ecn.h (enum tcp_accecn_option) and
Documentation/networking/ip-sysctl.rst of Linux
"""

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import hosts

SYSCTL = "net.ipv4.tcp_ecn_option"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each host that has the option off."""
    if not evidence.host_files:
        return [Skipped(hosts.NONE)]
    return [
        Finding(
            Severity.NOTICE,
            Confidence.HIGH,
            f"{hosts.name(host)}: {SYSCTL} is 0, so this host feeds back marks in the three bits "
            "of ACE only. Lost or thinned ACKs make them ambiguous.",
            f"Run sysctl {SYSCTL}=2",
            measures=(Measure(SYSCTL, 0, "", "2"),),
        )
        for host in evidence.host_files
        if hosts.sysctl(host, SYSCTL) == 0
    ]


RULE = Rule.of(__name__, __doc__, check, "This host sends no AccECN option")
