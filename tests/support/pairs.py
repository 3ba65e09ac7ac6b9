"""A run seen at its sender, at its receiver and at both: the three answers must go together."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import polars as pl

from l4strace import pipeline
from l4strace.bottleneck.agreement import OPEN, WHICH
from l4strace.derive import vantage
from l4strace.model import Severity
from l4strace.schema.words import CLASSIC_OR_PER_FLOW, NEVER_MARK

NEEDS_BOTH = {"L4S104", "L4S105", "L4S107", "L4S109", "L4S112"}
"""What the path does to codepoints and options shows where two captures are compared."""

RECEIVED = {"L4S403"}
"""Marks that arrive, where the path mangles what the sender hears of them."""

OF_ONE_CAPTURE = {"L4S006", "L4S407"}
"""Faults of the receiver's capture itself, and what shows where packets arrive."""

OF_A_PATH = {"L4S404", "L4S407", "L4S503"}
"""An event, the queue, or the reordering of all flows of a path is said of one: of the one that
waits longest, or has most late packets."""

TIMED_BY_BOTH = {"L4S204", "L4S503"}
"""Waits of packets that no ACK timed: a second capture may show more of them, and never fewer."""

OF_SEVERAL = {"L4S204"}
"""Slow starts that fill one queue together are told of one flow: of those that delays show to wait,
the one with most in flight. Round trips and one-way delays may show others."""

OF_THE_HANDSHAKE = {"L4S101"}
"""What the handshake shows, which a capture at the sender that began late does not hold."""

OF_ANY_AQM = {"L4S303"}
"""The detector "takes this path for classic, whatever the AQM", while the AQM is not known."""

EXPLAINED = {"L4S102": "L4S105", "L4S113": "L4S104"}
"""What the receiver alone leaves open, and the fault of the path that both ends show."""


Way = tuple[str, int, str, int]
"""A flow as packets name it: two captures of a run may number its flows differently."""

Span = tuple[int, int] | None


class Answer(NamedTuple):
    """What the tool says of a run."""

    found: dict[tuple[str, Way | None], list[Span]]
    """Rules that found something from NOTICE on, each with its flow and the time that it names."""
    kinds: dict[tuple[Way, bool], str]
    """Kind of bottleneck of each direction."""
    begun: dict[Way, bool]
    """Whether some capture has the handshake of the flow."""


def contradictions(sender: Path, receiver: Path) -> list[str]:
    """Where the answers of a run do not go together, each as a sentence."""
    near, far, both = answer(sender), answer(receiver), answer(sender, receiver)
    only = [
        f"{one}: at the sender, not at both ends"
        for one in near.found.keys() - both.found.keys()
        if not (one[0] in OF_SEVERAL and _met(near.found[one], one[0], both))
        and not _settled(*one, near, both)
    ]
    more = [
        f"{one}: at both ends, not at the sender"
        for one in both.found.keys() - near.found.keys()
        if one[0] not in NEEDS_BOTH | RECEIVED | TIMED_BY_BOTH
        and not (one[0] in OF_ONE_CAPTURE and one in far.found)
        and not (one[0] in OF_THE_HANDSHAKE and _late(near, far, one[1]))
    ]
    refuted = [
        f"{rule, flow}: at the receiver, not at both ends"
        for rule, flow in far.found.keys() - both.found.keys()
        if (EXPLAINED.get(rule), flow) not in both.found and not _settled(rule, flow, near, both)
    ]
    kinds = [
        f"{direction}: {kind} at the sender, {both.kinds.get(direction)} at both ends"
        for direction, kind in near.kinds.items()
        if not _go_together(kind, both.kinds.get(direction))
        and not _of_a_part(kind, both.kinds.get(direction), near, far, direction[0])
    ]
    return sorted(only + more + refuted) + kinds


def answer(*captures: Path) -> Answer:
    evidence = pipeline.derive(pipeline.read([str(one) for one in captures]), strict=True)
    analysis = pipeline.judge(evidence, strict=True)
    judged = vantage.once(evidence, evidence.bottlenecks)
    ways: dict[int, Way] = {
        number: (client, port, server, server_port)
        for number, client, port, server, server_port in evidence.flows.select(
            "flow", "client", "client_port", "server", "server_port"
        ).iter_rows()
    }
    found: dict[tuple[str, Way | None], list[Span]] = defaultdict(list)
    for one in analysis.findings:
        if one.severity >= Severity.NOTICE:
            of = None if one.flow is None or one.rule in OF_A_PATH else ways[one.flow]
            found[one.rule, of].append(one.span_ns)
    begun: dict[Way, bool] = defaultdict(bool)
    for number, handshake in evidence.flows.select("flow", "handshake").iter_rows():
        begun[ways[number]] |= handshake != "none"
    kinds = judged.filter(pl.col("kind").is_not_null()).iter_rows(named=True)
    return Answer(
        dict(found), {(ways[row["flow"]], row["forward"]): row["kind"] for row in kinds}, begun
    )


def _met(spans: list[Span], rule: str, other: Answer) -> bool:
    """The other answer tells the same of another flow, at the same time."""
    told = [span for (name, _), spans in other.found.items() if name == rule for span in spans]
    return all(
        own and any(span and span[0] <= own[1] and own[0] <= span[1] for span in told)
        for own in spans
    )


def _settled(rule: str, flow: Way | None, near: Answer, both: Answer) -> bool:
    """One end leaves the AQM open, and both ends name it."""
    if flow is None or rule not in OF_ANY_AQM:
        return False
    known = [answer.kinds.get((flow, True), "unknown") not in OPEN for answer in (near, both)]
    return known == [False, True]


def _of_a_part(kind: str, known: str | None, near: Answer, far: Answer, flow: Way) -> bool:
    """No queue in what the sender's capture holds, and marks or losses before it began."""
    return _late(near, far, flow) and (kind, known) == ("none", "unknown")


def _late(near: Answer, far: Answer, flow: Way | None) -> bool:
    """Only the receiver's capture holds the handshake."""
    return flow is not None and far.begun.get(flow, False) and not near.begun.get(flow, False)


def _go_together(kind: str, known: str | None) -> bool:
    """Both ends may show which of two kinds it is, or what one end cannot; never another one."""
    if kind == CLASSIC_OR_PER_FLOW:
        return known in (kind, *WHICH)
    if kind == "unmarked":
        return known in NEVER_MARK
    return kind in (known, *OPEN)
