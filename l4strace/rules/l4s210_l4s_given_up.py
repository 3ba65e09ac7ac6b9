"""A sender over UDP stopped ECT(1) for good.

What it checks
--------------
Directions over UDP that begin with ECT(1) and end with Not-ECT only. The probes of a QUIC sender
are L4S115. With captures at both ends: how the packets with ECT arrived. Behind a node that clears
the field no ECT(1) is seen: there UDP Prague's receiver reports it, and all packets are Not-ECT.

Why it matters
--------------
From then on the flow is classic traffic: it waits in the classic queue, which is some ten times
longer, and its loss is the only signal of congestion. UDP Prague gives up after one packet that
arrives without ECT, and never tries again.

Evidence
--------
`directions.first_ecn_runs`, `ecn_runs`, `without_ect_since_ns`, `without_ect_packets`, `from_start`
and, of UDP Prague, `l4s_error_ns` of the capture nearest to the sender; `flows.transport` and
`first_ns`; `paths.ect1_to_not_ect` and its neighbors.

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

from l4strace.evidence import Evidence, Row
from l4strace.model import Confidence, Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import tried
from l4strace.schema.words import ECT1
from l4strace.wording.quantities import count, quantity

BEHIND = "L4S was given up: no packet is ECT(1)"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction that gave L4S up."""
    seen = [
        _finding(evidence, one)
        for one in tried.given_up(evidence)
        if one.codepoint == ECT1 and not one.probes
    ]
    return [*seen, *(_behind(row) for row in tried.reported(evidence))]


def _finding(evidence: Evidence, one: tried.Tried) -> Finding:
    row, became = one.row, tried.became(evidence, one)
    after_us = (row["without_ect_since_ns"] - row["began_ns"]) / 1e3
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


def _behind(row: Row) -> Finding:
    """Where no packet is ECT(1) and the receiver reports it."""
    first, why = ("", "the sender gave L4S up before this capture began")
    if row["from_start"]:
        first, why = (", from the first on", "the sender never set it")
    return Finding(
        Severity.WARNING,
        Confidence.MEDIUM,
        f"All {row['run']:,} packets pass this capture as Not-ECT{first}, and their receiver "
        "reports that they come with neither ECT(1) nor CE, after which UDP Prague sends Not-ECT "
        f"for good: an earlier node clears ECT(1), or {why}.",
        "Capture at the sender too: it shows how the packets left.",
        **direction_of(row),
        span_ns=(row["l4s_error_ns"], row["last_ns"]),
        frames=(row["l4s_error_frame"],),
        headline=BEHIND,
        measures=(Measure("Not-ECT packets", row["run"], "", "0"),),
    )


RULE = Rule.of(__name__, __doc__, check, "The sender gave L4S up for good", BEHIND, over_udp=True)
