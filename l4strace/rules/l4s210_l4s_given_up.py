"""A sender over UDP stopped ECT(1) for good.

What it checks
--------------
Directions over UDP that begin with ECT(1) and end with Not-ECT only. The probes of a QUIC sender
are L4S115. With captures at both ends: how the packets with ECT arrived.

Why it matters
--------------
From then on the flow is classic traffic: it waits in the classic queue, which is some ten times
longer, and its loss is the only signal of congestion. UDP Prague gives up after one packet that
arrives without ECT, and never tries again.

Evidence
--------
`directions.first_ecn_runs`, `ecn_runs`, `without_ect_since_ns` and `without_ect_packets` of the
capture nearest to the sender; `flows.transport`; `paths.ect1_to_not_ect` and its neighbors;
`directions.l4s_error_ns` of UDP Prague.

When it is wrong
----------------
An application may stop L4S on purpose, such as at the end of a call's video.

What to do
----------
With one capture, take another at the other end: it shows whether the path clears the field. Then
repair the path, and restart the sender.

References
----------
RFC 9331 sections 4.1 and 4.3; `error_L4S` in pkt_format.h of L4STeam/udp_prague
"""

from l4strace.evidence import Evidence
from l4strace.model import Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import tried
from l4strace.schema.words import ECT1
from l4strace.wording.quantities import count, quantity


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction that gave L4S up."""
    return [
        _finding(evidence, one)
        for one in tried.given_up(evidence)
        if one.codepoint == ECT1 and not one.probes
    ]


def _finding(evidence: Evidence, one: tried.Tried) -> Finding:
    row, became = one.row, tried.became(evidence, one)
    after_us = (row["without_ect_since_ns"] - row["first_ns"]) / 1e3
    return Finding(
        Severity.WARNING,
        tried.confidence(became),
        f"The sender gave L4S up {quantity(after_us, 'us')} after its first packet, for good: "
        f"{count(one.packets, 'packet')} left with ECT(1), and the {row['without_ect_packets']:,} "
        f"since are Not-ECT. {tried.CAUSES[became]}",
        tried.ACTIONS[became],
        **direction_of(row),
        span_ns=one.span_ns,
        frames=tuple(
            row[name] for name in ("l4s_error_frame", "without_ect_since_frame") if row[name]
        ),
        measures=(
            Measure("time until L4S was given up", after_us, "us", "never"),
            Measure("Not-ECT packets since", row["without_ect_packets"], "", "0"),
        ),
    )


RULE = Rule.of(__name__, __doc__, check, "The sender gave L4S up for good", over_udp=True)
