"""A run seen at its sender, at its receiver and at both: the three answers must go together."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import polars as pl

from l4strace import pipeline
from l4strace.bottleneck.agreement import OPEN, WHICH
from l4strace.derive import vantage
from l4strace.model import Severity
from l4strace.schema.words import CLASSIC_OR_PER_FLOW

NEEDS_BOTH = {"L4S104", "L4S105", "L4S107", "L4S109", "L4S112"}
"""What the path does to codepoints and options shows where two captures are compared."""

RECEIVED = {"L4S403"}
"""Marks that arrive, where the path mangles what the sender hears of them."""

OF_ONE_CAPTURE = {"L4S006", "L4S407"}
"""Faults of the receiver's capture itself, and what shows where packets arrive."""

OF_A_PATH = {"L4S404", "L4S503"}
"""An event, or the queue, of all flows of a path is said of one: of the one that waits longest."""

TIMED_BY_BOTH = {"L4S204", "L4S503"}
"""Waits of packets that no ACK timed: a second capture may show more of them, and never fewer."""

EXPLAINED = {"L4S102": "L4S105", "L4S113": "L4S104"}
"""What the receiver alone leaves open, and the fault of the path that both ends show."""


class Answer(NamedTuple):
    """What the tool says of a run."""

    found: set[tuple[str, int | None]]
    """Rules that found something from NOTICE on, each with its flow."""
    kinds: dict[tuple[int, bool], str]
    """Kind of bottleneck of each direction."""


def contradictions(sender: Path, receiver: Path) -> list[str]:
    """Where the answers of a run do not go together, each as a sentence."""
    near, far, both = answer(sender), answer(receiver), answer(sender, receiver)
    only = [f"{one}: at the sender, not at both ends" for one in near.found - both.found]
    more = [
        f"{one}: at both ends, not at the sender"
        for one in both.found - near.found
        if one[0] not in NEEDS_BOTH | RECEIVED | TIMED_BY_BOTH
        and not (one[0] in OF_ONE_CAPTURE and one in far.found)
    ]
    refuted = [
        f"{rule, flow}: at the receiver, not at both ends"
        for rule, flow in far.found - both.found
        if (EXPLAINED.get(rule), flow) not in both.found
    ]
    kinds = [
        f"{direction}: {kind} at the sender, {both.kinds.get(direction)} at both ends"
        for direction, kind in near.kinds.items()
        if not _go_together(kind, both.kinds.get(direction))
    ]
    return sorted(only + more + refuted) + kinds


def answer(*captures: Path) -> Answer:
    evidence = pipeline.derive(pipeline.read([str(one) for one in captures]), strict=True)
    analysis = pipeline.judge(evidence, strict=True)
    judged = vantage.once(evidence, evidence.bottlenecks)
    return Answer(
        {
            (one.rule, None if one.rule in OF_A_PATH else one.flow)
            for one in analysis.findings
            if one.severity >= Severity.NOTICE
        },
        {
            (row["flow"], row["forward"]): row["kind"]
            for row in judged.filter(pl.col("kind").is_not_null()).iter_rows(named=True)
        },
    )


def _go_together(kind: str, known: str | None) -> bool:
    """Both ends may show which of two kinds it is, or what one end cannot; never another one."""
    if kind == CLASSIC_OR_PER_FLOW:
        return known in (kind, *WHICH)
    return kind in (known, *OPEN)
