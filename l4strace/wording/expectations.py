"""What a caller may expect of a run (`diagnose --expect`), and why it is not so."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from l4strace.model import Analysis, Finding, Severity, Status, Unmet
from l4strace.wording.order import cause_first

MISFIRES = ("L4S301", "L4S303", "L4S308")
"""Rules that find a fallback that acts without reason; as a warning or an error."""
CAUSES = (
    *("L4S101", "L4S102", "L4S103", "L4S104", "L4S105", "L4S106", "L4S113", "L4S114"),
    *("L4S115", "L4S210", "L4S603"),
)
"""Rules that find why traffic is not L4S, each with its remedy."""

NEGOTIATE = "Set net.ipv4.tcp_ecn=3 at both ends (Linux 7.0 or an L4S kernel)."
SEND_ECT1 = "Use a congestion control that sends ECT(1), such as Prague."
SEND_OVER_UDP = (
    "Capture at the sender. If ECT(1) leaves it, find the node that clears the field; else use a "
    "program that sends ECT(1), such as UDP Prague."
)
OF_TCP = "AccECN is feedback of TCP, and no flow over TCP was captured."
EXPECT_OF_UDP = "Expect ect1 or l4s of flows over UDP."
MARK = "Put an L4S AQM, such as DualPI2, at the bottleneck, and check with both ends that it marks."

MET: dict[str, Callable[[Status], bool]] = {
    "l4s": lambda status: status.answer == "yes",
    "accecn": lambda status: status.accecn > 0,
    "ect1": lambda status: status.ect1 + status.udp_ect1 > 0,
}
"""What some conversation of the run must reach, by the steps of `Status`: over UDP there is no
AccECN."""
NO_MISFIRE = "no-misfire"
EXPECTATIONS = (*MET, NO_MISFIRE)


def unmet(analysis: Analysis, expected: Sequence[str]) -> tuple[Unmet, ...]:
    """The part of ``expected`` that is not so, in its order, each with its reason and remedy."""
    found = (
        _misfire(name, analysis) if name == NO_MISFIRE else _step(name, analysis)
        for name in dict.fromkeys(expected)
    )
    return tuple(one for one in found if one is not None)


def _misfire(name: str, analysis: Analysis) -> Unmet | None:
    worst = _first(analysis, MISFIRES)
    return None if worst is None else Unmet(name, worst.message, worst.action)


def _step(name: str, analysis: Analysis) -> Unmet | None:
    status = analysis.status
    if status is None or MET[name](status):
        return None
    only_udp = status.udp_flows > 0 and not status.flows
    if only_udp and name == "accecn":
        return Unmet(name, OF_TCP, EXPECT_OF_UDP)
    cause = _first(analysis, CAUSES)
    if cause is None:
        return Unmet(name, status.sentence, _remedy(name, status))
    # The status tells the step that is missing, the finding why.
    return Unmet(name, f"{status.sentence} {cause.message}", cause.action)


def _remedy(name: str, status: Status) -> str:
    """What makes the first step that no conversation takes."""
    if status.ect1 or (status.udp_ect1 and name == "l4s"):
        return MARK
    if status.udp_flows and not status.flows:
        return SEND_OVER_UDP
    return SEND_ECT1 if status.accecn else NEGOTIATE


def _first(analysis: Analysis, rules: Sequence[str]) -> Finding | None:
    able = (f for f in analysis.findings if f.rule in rules and f.severity >= Severity.WARNING)
    return min(able, key=cause_first, default=None)
