"""CE without an answer."""

from l4strace.rules.l4s202_no_response_to_ce import check
from tests.support.frames import evidence, frame
from tests.support.scenes import DIRECTIONS, laws


def scene(law: str | None = "none", handshake: str = "full", **columns: object):
    plain = {"half_alpha": 0.3, "fraction": 0.0}
    flows = frame("flows", flow=[0, 1], handshake=handshake)
    return evidence(flows=flows, directions=DIRECTIONS, laws=laws(law, **(plain | columns)))


def test_fires_when_marks_ask_for_much_and_get_nothing() -> None:
    (found,) = check(scene())
    assert [m.value for m in found.measures] == [0.3, 40.0, 100.0]


def test_silent_on_an_answer_and_on_marks_that_ask_for_less_than_a_packet() -> None:
    assert check(scene("alpha/2")) == []
    assert check(scene(None)) == []
    assert check(scene(half_alpha=0.01)) == []


def test_silent_where_the_capture_began_late() -> None:
    """Alpha at the start is not known there."""
    assert check(scene(handshake="none")) == []
