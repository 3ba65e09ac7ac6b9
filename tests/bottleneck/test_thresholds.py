"""Each sign that compares a number turns at its threshold: at 80 and at 120 % of it."""

from collections.abc import Iterator
from itertools import product
from math import isnan
from typing import Any

import pytest

from l4strace.bottleneck.evidence import Direction, Neighbors
from l4strace.bottleneck.kinds import ROWS
from l4strace.bottleneck.sign import Shown, Sign, has_number
from tests.support.kinds import SHOWN

NUMBERS = [(name, "") for name, of in Direction.__annotations__.items() if of is float]
BESIDE = [name for name, of in Neighbors.__annotations__.items() if of is float]
LOW, HIGH = 0.8, 1.2

TURNS_ELSEWHERE = {
    ("late", HIGH): "below CoDel's 5 ms marks are late only if another flow waits as long",
    ("alike", HIGH): "delays this far apart are alike if they move together",
    ("apart", HIGH): "the gap from which delays are apart grows with their correlation (APARTS)",
    ("waited", LOW): "its threshold is the noise, which is none here",
    ("waited", HIGH): "its threshold is the noise, which is none here",
    ("first_far_late", LOW): "a first mark this early is late after many packets without one",
    ("before", HIGH): "one packet more is not yet most of those that were sent again",
}
"""What else decides a sign there, so that no one number of the evidence moves it."""


def known_signs() -> dict[str, Sign]:
    """The signs of all rows that compare a number."""
    return {sign.key: sign for row in ROWS for sign in (*row.needs, *row.unless) if sign.unit}


def numeric() -> Iterator[tuple[Sign, Direction, str]]:
    """Each sign with the first evidence of a row that needs it, and the class that it asks."""
    seen: set[str] = set()
    for row, shown in zip(ROWS, SHOWN, strict=True):
        for sign, beside in product(row.needs, row.beside):
            answer = sign(shown, getattr(shown, beside))
            if sign.unit and sign.key not in seen and answer.true and has_number(answer):
                seen.add(sign.key)
                yield sign, shown, beside


def with_number(d: Direction, at: tuple[str, str], value: float) -> Direction:
    name, of = at
    changed: dict[str, Any] = {name: value}
    if of:
        changed = {of: getattr(d, of)._replace(**changed)}
    return d._replace(**changed)


def number(d: Direction, at: tuple[str, str]) -> float:
    return float(getattr(getattr(d, at[1]) if at[1] else d, at[0]))


def moved_to(sign: Sign, d: Direction, beside: str, part: float) -> Shown | None:
    """What the sign shows once a number of the evidence brings it to that part of its threshold."""

    def ask(now: Direction) -> Shown:
        return sign(now, getattr(now, beside))

    first = ask(d)
    assert first.value is not None
    assert first.threshold is not None
    target = part * first.threshold
    for at in [*NUMBERS, *((name, beside) for name in BESIDE)]:
        x = number(d, at)
        step = 0.01 * x + 0.001
        second = ask(with_number(d, at, x + step))
        if isnan(x) or second.value in (None, first.value) or second.threshold != first.threshold:
            continue
        slope = ((second.value or 0.0) - first.value) / step
        shown = ask(with_number(d, at, x + (target - first.value) / slope))
        if shown.value == pytest.approx(target) and shown.threshold == first.threshold:
            return shown
    return None


CASES = [
    pytest.param(sign, *at, part, id=f"{sign.key}-{part:.0%}")
    for sign, *at in numeric()
    for part in (LOW, HIGH)
]


@pytest.mark.parametrize(("sign", "shown", "beside", "part"), CASES)
def test_a_sign_turns_at_its_threshold(
    sign: Sign, shown: Direction, beside: str, part: float
) -> None:
    moved = moved_to(sign, shown, beside, part)
    assert (moved is None) == ((sign.key, part) in TURNS_ELSEWHERE), "state why in TURNS_ELSEWHERE"
    if moved is not None:
        assert moved.true is ((part == HIGH) == (moved.bound in ("at least", "above")))


def test_every_sign_with_a_number_is_asked() -> None:
    """Or else it only excludes or denies another."""
    asked = {sign.key for sign, _, _ in numeric()}
    unasked = known_signs().keys() - asked
    assert unasked == {"slow", "waits_no_less"}, (
        "SHOWN in tests/support/kinds.py: the row's evidence"
    )
