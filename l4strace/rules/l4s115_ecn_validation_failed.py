"""A QUIC sender tried ECN out and gave it up.

What it checks
--------------
QUIC directions that begin with a few packets with ECT and then send Not-ECT for good. A sender
validates ECN so: it sends some packets with ECT, goes on with Not-ECT until they are acknowledged,
and returns to ECT if the acknowledgements count them. With captures at both ends: how the packets
with ECT arrived. With the sender's qlog: how validation ended and why, whatever was captured.

Why it matters
--------------
Without ECN the bottleneck drops packets where it would mark them, and L4S is out of reach.

Evidence
--------
`directions.first_ecn_runs`, `ecn_runs`, `without_ect_since_ns` and `without_ect_packets` of the
capture nearest to the sender; `flows.transport`; `paths.ect0_to_not_ect` and its neighbors;
`kernel.ecn_state` and `ecn_trigger` of a qlog.

When it is wrong
----------------
Acknowledgements are encrypted: packets show the sender's decision, a qlog its reason, and only both
ends whether the path or the receiver is to blame. Some stacks fail validation on a clean path,
because they count packets whose acknowledgement can never come (Initial packets after their keys
are dropped).

What to do
----------
With one capture, take another at the other end. If the packets with ECT arrive as they left, check
the receiver: a socket that does not deliver the ECN field reports nothing.

References
----------
RFC 9000 section 13.4.2 and appendix A.4
"""

from l4strace.evidence import Evidence
from l4strace.model import Finding, Measure, Rule, Severity, Skipped, direction_of
from l4strace.rules.support import tried, validation
from l4strace.rules.support.validation import CAPABLE, FAILED, Logged
from l4strace.schema.words import ECT1
from l4strace.wording.quantities import count

HEADLINE = "QUIC gave up ECN: its validation failed"
CLEARED = "QUIC gave up ECN: the path clears it"
MANGLED = "QUIC gave up ECN: the path changes the codepoint"
UNREPORTED = "QUIC gave up ECN: the receiver reports none"
HEADLINES = {
    "cleared": CLEARED,
    **dict.fromkeys(("changed", "marked", "all_marked"), MANGLED),
    "unreported": UNREPORTED,
}
"""By the cause (see `validation.cause`), where it is known."""


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose validation failed, by its packets or by its log."""
    logs = validation.logged(evidence)
    shown = tried.given_up(evidence)
    by_packets = [
        _by_packets(evidence, one, logs.get(one.direction))
        for one in shown
        if _failed(one, logs.get(one.direction))
    ]
    directions = {one.direction for one in shown}
    by_log = [
        _by_log(log)
        for direction, log in logs.items()
        if log.state == FAILED and direction not in directions
    ]
    return [*by_packets, *by_log]


def _failed(one: tried.Tried, log: Logged | None) -> bool:
    """Whether Not-ECT follows from the validation; a sender that gave up ECT(1) later is L4S210."""
    if log is None or log.state not in (FAILED, CAPABLE):
        return one.probes
    return log.state == FAILED and (one.probes or one.codepoint != ECT1)


def _by_log(log: Logged) -> Finding:
    """Where no packets show it: the capture began later, or there is none."""
    why = validation.cause("unknown", log)
    return Finding(
        Severity.WARNING,
        validation.confidence(why),
        f"ECN validation failed, and the sender gave up ECN. {log.quoted} {tried.CAUSES[why]}",
        tried.ACTIONS[why],
        source=log.source,
        flow=log.flow,
        forward=log.forward,
        span_ns=(log.since_ns, log.last_ns),
        headline=HEADLINES.get(why, HEADLINE),
    )


def _by_packets(evidence: Evidence, one: tried.Tried, log: Logged | None) -> Finding:
    row, why = one.row, validation.cause(tried.became(evidence, one), log)
    states = f"{log.quoted} " if log else ""
    return Finding(
        Severity.WARNING,
        validation.confidence(why),
        f"ECN validation failed: after {count(one.packets, 'packet')} with {one.name} the sender "
        f"gave up ECN, and the {row['without_ect_packets']:,} packets since are Not-ECT. "
        f"{states}{tried.CAUSES[why]}",
        tried.ACTIONS[why],
        **direction_of(row),
        span_ns=one.span_ns,
        frames=(row["without_ect_since_frame"],),
        measures=(
            Measure("packets with ECT", one.packets, "", "until the end, after a gap"),
            Measure("Not-ECT packets since", row["without_ect_packets"], "", "0"),
        ),
        headline=HEADLINES.get(why, HEADLINE),
    )


RULE = Rule.of(__name__, __doc__, check, HEADLINE, CLEARED, MANGLED, UNREPORTED, over_udp=True)
