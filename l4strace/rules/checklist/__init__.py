"""The sender checklist: what RFC 9331 section 4, its Prague requirements and RFC 9956 ask for.

Each requirement is answered `pass`, `fail` or `not shown` from the evidence of one flow direction
and from what the rules found in it. Nothing passes because nothing was found.
"""

from collections.abc import Sequence

from l4strace.evidence import Evidence
from l4strace.model import Check, Checklist, Finding
from l4strace.rules.checklist import packets, response
from l4strace.rules.checklist.sender import Sender, senders

REQUIREMENTS = (
    ("Data is sent as ECT(1)", "RFC 9331 4.1 and A.1.1", packets.ect1),
    ("Feedback on the extent of marking", "RFC 9331 4.2 and A.1.2", packets.feedback),
    ("Scalable response to marks", "RFC 9331 4.3", response.scalable),
    ("Reno-friendly response to loss", "RFC 9331 4.3 and A.1.4", response.loss),
    ("Falls back at a classic ECN bottleneck", "RFC 9331 4.3 and A.1.5", response.fallback),
    ("Reduced dependence on the RTT", "RFC 9331 4.3 and A.1.6", response.rtt),
    ("Works below two packets in flight", "RFC 9331 4.3 and A.1.7", response.small_window),
    ("Detects loss in units of time", "RFC 9331 4.3 and A.1.8", packets.loss_in_time),
    ("Bursts of at most 250 us", "RFC 9331 4.3", packets.bursts),
    ("ECN-capable control packets", "RFC 9331 A.2.1", packets.control),
    ("Faster than additive increase", "RFC 9331 A.2.2", response.increase),
    ("Fast start", "RFC 9331 A.2.3", response.start),
    ("No bursts under DSCP 45 (NQB)", "RFC 9956", packets.nqb),
)
"""Requirement, sections and the function that answers it with a verdict and its evidence."""


def checklists(evidence: Evidence, findings: Sequence[Finding]) -> tuple[Checklist, ...]:
    """One checklist for each L4S sender, the one that sent most first."""
    return tuple(_checklist(sender) for sender in senders(evidence, findings))


def _checklist(sender: Sender) -> Checklist:
    checks = (Check(name, clause, *answer(sender)) for name, clause, answer in REQUIREMENTS)
    return Checklist(sender.flow, sender.forward, tuple(checks))
