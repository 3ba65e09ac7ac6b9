"""Reductions without a mark or a loss."""

from l4strace.model import Finding, Skipped
from l4strace.rules.l4s216_reduces_without_marks import check
from tests.support.sender_logs import marks, saw, scene, whole


def test_fires_on_reductions_that_nothing_explains() -> None:
    (found,) = check(scene(saw(5, 0.1)))
    assert isinstance(found, Finding)
    assert "5 of 5 reductions of the window (threshold 5), first at t=0.2 s" in found.message


def test_silent_on_few_and_on_those_after_marks() -> None:
    assert check(scene(saw(4, 0.1))) == []
    assert check(scene(saw(9, 0.1), marks(9))) == []


def test_senders_that_state_no_alpha_may_have_other_reasons() -> None:
    assert check(scene(saw(9, 0.1), alpha=None, cc="bbr")) == [
        Skipped("no log of a Prague sender in user space")
    ]


def test_fires_on_the_log_of_udp_prague_too_and_is_silent_on_its_twin() -> None:
    (found,) = check(whole(saw(6, 0.1)))
    assert isinstance(found, Finding)
    assert "6 of 6 reductions of the window" in found.message
    assert check(whole(saw(6, 0.1), marks(6))) == []


def test_a_log_that_shows_no_single_reduction_is_not_judged() -> None:
    assert check(whole(saw(9, 0.1), rtt_ms=1)) == [
        Skipped("no log shows each change of the sender's window")
    ]
