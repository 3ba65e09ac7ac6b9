"""The verdict on one direction, and what only ECT(1) packets could show."""

from l4strace.bottleneck import verdict
from l4strace.bottleneck.evidence import Direction, Neighbors
from l4strace.bottleneck.kinds import ROWS
from l4strace.bottleneck.verdict import Asked, fires

LATE = {"mark_limit_us": 3_000.0, "marks": 30, "marking_delay_us": 20e3, "far_unmarked": 9}
SURE = Neighbors(slots=20, gap=0.1, corr=0.9, queue_us=20e3, own_queue_us=20e3)


def test_the_sentence_and_the_signs_are_those_of_the_row() -> None:
    found = verdict.of(Direction(**LATE, classic=SURE))
    assert (found.kind, found.confidence) == ("classic", 0.9)
    assert found.reason == (
        "Marks begin at 20 ms of queue delay (threshold 3 ms), and the other traffic waits as "
        "long at the same time (delays 10 % apart on average, threshold 25 %)."
    )
    assert [sign.key for sign, _ in found.signs] == ["late", "surely_alike"]
    assert found.marking_delay_us == 20e3


def test_the_class_of_neighbors_that_shows_it_is_found() -> None:
    assert verdict.of(Direction(**LATE, scalable=SURE)).kind == "classic"


def test_without_ect1_packets_a_second_queue_is_not_excluded() -> None:
    found = verdict.of(Direction(**LATE, marked_as="ect0", classic=SURE, ect1_on_path=False))
    assert (found.kind, found.confidence) == ("classic", 0.5)
    assert found.reason.endswith("No ECT(1) packet shows whether it has a second queue.")


def test_ect1_flows_too_short_to_compare_may_have_a_queue_of_their_own() -> None:
    lone = Direction(**LATE, marked_as="ect0", ect1_on_path=True)
    assert verdict.of(lone).kind == "unknown"
    assert "too short" in verdict.of(lone).reason


def test_a_sign_is_asked_once_however_many_rows_need_it() -> None:
    asked = Asked(Direction(**LATE))
    first = [fires(row, asked) for row in ROWS]
    before = len(asked._known)
    assert [fires(row, asked) for row in ROWS] == first
    assert len(asked._known) == before
