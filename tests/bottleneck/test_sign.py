"""A sign is true, false or unknown, and states the number that decided."""

from math import nan

import pytest

from l4strace.bottleneck.evidence import Direction
from l4strace.bottleneck.sign import Shown, above, at_least, at_most, below, has_number, is_so, sign

YES, NO, UNKNOWN = Shown(True, 1.0), Shown(False, 2.0), Shown(None, 3.0)


@sign("marks begin early", "us", "3 ms", says="marks begin {at} (threshold {threshold})")
def early(d: Direction) -> Shown:
    return at_most(d.marking_delay_us, d.mark_limit_us)


@pytest.mark.parametrize(
    ("compare", "expected"),
    [(at_least, (False, True, True)), (above, (False, False, True)),
     (at_most, (True, True, False)), (below, (True, False, False))],
)  # fmt: skip
def test_a_number_is_compared_with_its_threshold(compare, expected):
    assert tuple(compare(value, 2.0).true for value in (1.0, 2.0, 3.0)) == expected
    assert compare(nan, 2.0).true is None
    assert compare(2.0, nan).true is None


def test_a_conjunction_is_false_for_one_that_is_and_unknown_for_one_that_is():
    """And states the number of the one that decides it."""
    assert (YES & NO, NO & UNKNOWN, UNKNOWN & NO) == (NO, NO, NO)
    assert (YES & UNKNOWN, UNKNOWN & YES) == (UNKNOWN, UNKNOWN)
    assert (YES & Shown(True, 9.0)) == YES


def test_a_disjunction_is_true_for_one_that_is_and_unknown_for_one_that_is():
    assert (YES | NO, NO | YES, UNKNOWN | YES) == (YES, YES, YES)
    assert (NO | UNKNOWN, UNKNOWN | NO) == (UNKNOWN, UNKNOWN)
    assert (NO | Shown(False, 9.0)) == NO


def test_the_contrary_of_unknown_is_unknown():
    assert ((~YES).true, (~NO).true, (~UNKNOWN).true) == (False, True, None)


def test_a_sign_words_its_number_and_threshold():
    shown = early(Direction(marking_delay_us=900.0, mark_limit_us=3_000.0))
    assert early.worded(shown) == "marks begin at 900 us (threshold 3 ms)"
    assert early.key == "early"


def test_a_fact_and_what_is_not_known_have_no_number():
    assert not has_number(is_so(True))
    unknown = early(Direction())
    assert unknown.true is None
    assert early.worded(unknown) == "marks begin early"


def test_words_replace_a_number_that_would_claim_too_much():
    shown = at_most(20.0, 3_000.0)._replace(words="below 100 us")
    assert early.worded(shown) == "marks begin below 100 us (threshold 3 ms)"
