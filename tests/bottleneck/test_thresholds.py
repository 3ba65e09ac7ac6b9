"""Each sign that compares a number turns at its threshold: at 80 and at 120 % of it."""

from collections.abc import Iterator
from dataclasses import fields, replace
from math import isnan
from typing import Any

import pytest

from l4strace.bottleneck.evidence import CLASSES, Direction, Neighbors
from l4strace.bottleneck.kinds import ROWS
from l4strace.bottleneck.sign import Shown, Sign, has_number

NUMBERS = [(f.name, "") for f in fields(Direction) if f.type is float]
BESIDE = [f.name for f in fields(Neighbors) if f.type is float]
LOW, HIGH = 0.8, 1.2

TURNS_ELSEWHERE = {
    ("late", HIGH): "below CoDel's 5 ms marks are late only if another flow waits as long",
    ("alike", HIGH): "delays this far apart are alike if they move together",
    ("apart", HIGH): "the gap from which delays are apart grows with their correlation (APARTS)",
    ("waited", LOW): "its threshold is the noise, which is none here",
    ("waited", HIGH): "its threshold is the noise, which is none here",
    ("first_far_late", LOW): "a first mark this early is late after many packets without one",
}
"""What else decides a sign there, so that no one number of the evidence moves it."""


SHOWN: tuple[tuple[Direction, str], ...] = (
    (
        Direction(marks=279, queue_max_us=210, path_max_us=27000, met_peak=True,
            mark_limit_us=3000, first_marking_us=9.7, erased=True, lost=18, lost_us=45000,
            queue_high_us=270000, marked_as="ect0", scalable=Neighbors(slots=40,
            marked_slots=34, mark_delay_us=340), classic=Neighbors(waiting=18, uneven=0.07,
            unlike=0.6)),
        "enough in_turn spared some with_queue unanswered ect1_early",
    ),
    (
        Direction(mark_limit_us=3000, marks=85, marking_delay_us=620,
            first_marking_us=25000, high_acked=488, queue_high_us=3.2, lost=4, lost_us=1000,
            noise_us=8500, queue_max_us=6800, scalable=Neighbors(corr=1, gap=0.06),
            classic=Neighbors(slots=54, apart=0.5, marked_slots=4, mark_delay_us=17600)),
        "lower_early far_apart without_queue shallow flat jitter first_far_late",
    ),
    (
        Direction(marked_as="ect0", floor_us=4900, base_us=4500, mark_limit_us=3000,
            marks=89, all_marks=5, first_marking_us=530, ect0_marks=29, ect0_ratio=11,
            late_share=0.5, lost=14, lost_us=16000, scalable=Neighbors(slots=67,
            queue_us=770, own_queue_us=15600, marks=1107, mark_delay_us=20.5)),
        "ect1_marked wait_less began_early reordered",
    ),
    (
        Direction(floor_us=20400, base_us=20400, mark_limit_us=3000, marks=25,
            marking_delay_us=55000, path_max_us=68000, lost=12, lost_us=67000, path_lost=12,
            path_lost_rounds=6, path_lost_low_us=70000, path_lost_high_us=70000,
            classic=Neighbors(slots=8, queue_us=9000, own_queue_us=65000)),
        "late always_full",
    ),
    (
        Direction(mark_limit_us=3000, marks=98, marking_delay_us=290, path_max_us=480000,
            lost=8, lost_rounds=8, lost_us=15000, lost_low_us=25000, top_us=57000,
            path_lost_high_us=53000, classic=Neighbors(slots=89, queue_us=8000,
            own_queue_us=700)),
        "early wait_longer below_largest never_full",
    ),
    (
        Direction(began=False, flat=False, floor_us=18400, queue_max_us=7800,
            mark_limit_us=3000, marks=80, marking_delay_us=2600, queue_delay_us=80000,
            lost=21, lost_us=80000),
        "hidden_queue standing",
    ),
    (
        Direction(acked=100, queue_delay_us=500, marks=100),
        "every_packet",
    ),
    (
        Direction(mark_limit_us=5700, marks=81, marking_delay_us=850, far_unmarked=7),
        "slow_and_tolerated",
    ),
    (
        Direction(mark_limit_us=3000, marks=918, marking_delay_us=1000,
            classic=Neighbors(slots=87, corr=0.7, gap=0.21, marked_slots=85,
            mark_delay_us=3)),
        "others_early surely_alike",
    ),
    (
        Direction(mark_limit_us=13000, marks=309, marking_delay_us=3.4, ect0_marks=233,
            ect0_ratio=1.3),
        "uncoupled",
    ),
    (
        Direction(mark_limit_us=8000, marks=56, marking_delay_us=2140,
            classic=Neighbors(slots=50, queue_us=700, own_queue_us=300, ect0=0)),
        "unmarkable_beside",
    ),
    (
        Direction(mark_limit_us=11500, marks=431, marking_delay_us=0.14,
            classic=Neighbors(slots=36, marked_slots=19, mark_delay_us=0.22)),
        "compared",
    ),
    (
        Direction(marked_as="ect0", mark_limit_us=5700, marks=8, marking_delay_us=3400,
            ect0_ratio=0.02, scalable=Neighbors(marks=124, mark_delay_us=850)),
        "coupled",
    ),
    (
        Direction(marked_as="ect0", mark_limit_us=3000, marks=90, marking_delay_us=740,
            stepped=0.97),
        "stepped",
    ),
    (
        Direction(seconds=6.5, serialisation_us=1760, mark_limit_us=4000, marks=549,
            all_marks=604, marking_delay_us=13400, first_marking_us=310, high_acked=582,
            high_marks=582, classic=Neighbors(queue_us=16000, gap=0.05)),
        "step_below alike",
    ),
    (
        Direction(mark_limit_us=7000, marks=154, marking_delay_us=23000, far_unmarked=46,
            classic=Neighbors(slots=22, queue_us=113000, own_queue_us=31000, least_us=176,
            corr=0.43, gap=0.6)),
        "waited apart",
    ),
    (
        Direction(mark_limit_us=3000, marks=9, marking_delay_us=16000, far_unmarked=46,
            first_slots=7, first_met=0, first_passed=7, first_apart_us=6000),
        "first_packets_pass",
    ),
    (
        Direction(mark_limit_us=5300, marks=33, marking_delay_us=17000, far_unmarked=48,
            first_slots=7, first_met=7, first_passed=0),
        "first_packets_wait",
    ),
    (
        Direction(noise_us=2900, queue_max_us=4600, mark_limit_us=3000, marks=60,
            marking_delay_us=3300),
        "about_border never_beyond",
    ),
    (
        Direction(noise_us=8000, mark_limit_us=3000, marks=8, marking_delay_us=6300),
        "jitter_hides",
    ),
)  # fmt: skip
"""Evidence of simulated runs, and the signs that it shows."""


def known_signs() -> dict[str, Sign]:
    """The signs of all rows that compare a number."""
    return {sign.key: sign for row in ROWS for sign in (*row.needs, *row.unless) if sign.unit}


def numeric() -> Iterator[tuple[Sign, Direction, str]]:
    """Each sign with evidence that shows it, and the class of flows that it asks."""
    for shown, keys in SHOWN:
        for key in keys.split():
            sign = known_signs()[key]
            there = [of for of in CLASSES if getattr(shown, of) != Neighbors()] or ["classic"]
            answers = {of: sign(shown, getattr(shown, of)) for of in there}
            yield (
                sign,
                shown,
                next(of for of in there if answers[of].true and has_number(answers[of])),
            )


def with_number(d: Direction, at: tuple[str, str], value: float) -> Direction:
    name, of = at
    changed: dict[str, Any] = {name: value}
    if of:
        changed = {of: replace(getattr(d, of), **changed)}
    return replace(d, **changed)


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
    assert (moved is None) == ((sign.key, part) in TURNS_ELSEWHERE)
    if moved is not None:
        assert moved.true is ((part == HIGH) == (moved.bound in ("at least", "above")))


def test_every_sign_with_a_number_is_asked() -> None:
    """Or else it only excludes or denies another; those of losses are in signs/test_losses.py."""
    elsewhere = {"slow", "waits_no_less", "one_rate", "in_groups", "no_room", "before", "may_hide"}
    assert known_signs().keys() - {sign.key for sign, _, _ in numeric()} <= elsewhere
