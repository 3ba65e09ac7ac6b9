"""The verdict on one direction: the kind, confidence and sentence of the first row that fires."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import NamedTuple

from l4strace.bottleneck.evidence import Direction
from l4strace.bottleneck.kinds import ALONE, NO_VERDICT, ROWS, SEEN_BY_OTHERS, Row
from l4strace.bottleneck.sign import Shown, Sign
from l4strace.bottleneck.signs import others
from l4strace.schema.words import CLASSIC_OR_PER_FLOW

Answers = tuple[tuple[Sign, Shown], ...]

ONE_OF_TWO = ("classic", "per-flow", "shallow", CLASSIC_OR_PER_FLOW)
"""What the classic queue of a DualPI2 may look like to the flows in it."""


class Verdict(NamedTuple):
    """The kind, how sure it is, one sentence, and the signs that decided."""

    kind: str
    confidence: float
    reason: str
    signs: Answers = ()
    marking_delay_us: float = nan


def unknown(why: str) -> Verdict:
    return Verdict("unknown", NO_VERDICT, _closed(why))


def of(d: Direction, rows: Sequence[Row] = ROWS, asked: Asked | None = None) -> Verdict:
    """Verdict of the first of ``rows`` that fires, less what only ECT(1) packets could show."""
    made = _of_rows(d, rows, asked or Asked(d))
    if d.marked_as == "ect1" or others.compared(d, d.scalable).true:
        return made
    if d.ect1_on_path and made.kind in ONE_OF_TWO and made.confidence < SEEN_BY_OTHERS:
        return unknown(
            "the ECT(1) flows are too short to show whether they have a queue of their own"
        )
    if made.kind in ("classic", CLASSIC_OR_PER_FLOW) and made.confidence > ALONE:
        reason = f"{made.reason} No ECT(1) packet shows whether it has a second queue."
        return Verdict(made.kind, ALONE, reason, made.signs, made.marking_delay_us)
    return made


def _of_rows(d: Direction, rows: Sequence[Row], asked: Asked) -> Verdict:
    fired = ((row, signs) for row in rows if (signs := fires(row, asked)) is not None)
    row, signs = next(fired)  # the last row needs nothing
    return Verdict(row.kind, row.confidence, sentence(row, signs), signs, d.marking_delay_us)


class Asked:
    """The signs of one direction, each worked out once however many rows need it."""

    def __init__(self, direction: Direction) -> None:
        self._direction = direction
        self._known: dict[tuple[Sign, str], Shown] = {}

    def shows(self, sign: Sign, beside: str) -> Shown:
        at = sign, beside
        if at not in self._known:
            self._known[at] = sign(self._direction, getattr(self._direction, beside))
        return self._known[at]


def fires(row: Row, asked: Asked) -> Answers | None:
    """What the signs that the row needs show; null where one is not true or another excludes it."""
    for beside in row.beside:
        needed = all(asked.shows(sign, beside).true for sign in row.needs)
        if needed and not any(asked.shows(sign, beside).true for sign in row.unless):
            return tuple((sign, asked.shows(sign, beside)) for sign in row.needs)
    return None


def sentence(row: Row, signs: Answers) -> str:
    text = row.says.format(**{sign.key: sign.worded(shown) for sign, shown in signs})
    return _closed(text)


def _closed(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
