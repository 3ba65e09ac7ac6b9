"""A QUIC sender tried ECN out and gave it up.

What it checks
--------------
QUIC directions that begin with a few packets with ECT and then send Not-ECT for good. A sender
validates ECN so: it sends some packets with ECT, goes on with Not-ECT until they are acknowledged,
and returns to ECT if the acknowledgements count them. With captures at both ends: how the packets
with ECT arrived.

Why it matters
--------------
Without ECN the bottleneck drops packets where it would mark them, and L4S is out of reach.

Evidence
--------
`directions.first_ecn_runs`, `ecn_runs`, `without_ect_since_ns` and `without_ect_packets` of the
capture nearest to the sender; `flows.transport`; `paths.ect0_to_not_ect` and its neighbors.

When it is wrong
----------------
Acknowledgements are encrypted: l4strace sees the sender's decision, not its reason. Some stacks
fail validation on a clean path, because they count packets whose acknowledgement can never come
(Initial packets after their keys are dropped).

What to do
----------
With one capture, take another at the other end. If the packets with ECT arrive as they left, check
the receiver: a socket that does not deliver the ECN field reports nothing.

References
----------
RFC 9000 section 13.4.2 and appendix A.4
"""

from __future__ import annotations

from l4strace.evidence import Evidence
from l4strace.model import Finding, Measure, Rule, Severity, Skipped
from l4strace.rules.support import tried
from l4strace.wording.quantities import count

CODE = "L4S115"


def check(evidence: Evidence) -> list[Finding | Skipped]:
    """One finding for each direction whose validation failed."""
    return [_finding(evidence, one) for one in tried.given_up(evidence) if one.probes]


def _finding(evidence: Evidence, one: tried.Tried) -> Finding:
    row, became = one.row, tried.became(evidence, one)
    return Finding(
        CODE,
        Severity.WARNING,
        tried.confidence(became),
        f"ECN validation failed: after {count(one.packets, 'packet')} with {one.name} the sender "
        f"gave up ECN, and the {row['without_ect_packets']:,} packets since are Not-ECT. "
        f"{tried.CAUSES[became]}",
        tried.ACTIONS[became],
        source=row["source"],
        flow=row["flow"],
        forward=row["forward"],
        span_ns=one.span_ns,
        frames=(row["without_ect_since_frame"],),
        measures=(
            Measure("packets with ECT", one.packets, "", "until the end, after a gap"),
            Measure("Not-ECT packets since", row["without_ect_packets"], "", "0"),
        ),
    )


RULE = Rule(
    CODE,
    "ecn-validation-failed",
    "QUIC tried ECN and gave it up.",
    check,
    __doc__,
    ("QUIC gave up ECN: its validation failed",),
)
