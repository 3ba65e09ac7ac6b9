"""CE without an answer."""

from l4strace.model import Skipped
from l4strace.rules.l4s202_no_response_to_ce import check
from tests.support.frames import evidence, frame
from tests.support.scenes import DIRECTIONS, laws


def scene(
    law: str | None = "none",
    handshake: str = "full",
    release_us: float | None = None,
    **columns: object,
):
    plain = {"half_alpha": 0.3, "fraction": 0.0}
    flows = frame("flows", flow=[0, 1], handshake=handshake)
    noise = frame("noise", flow=[0], release_us=release_us)
    tables = {"laws": laws(law, **(plain | columns)), "noise": noise}
    return evidence(flows=flows, directions=DIRECTIONS, **tables)


def test_fires_when_marks_ask_for_much_and_get_nothing() -> None:
    (found,) = check(scene())
    assert [m.value for m in found.measures] == [0.3, 40.0]


def test_silent_on_an_answer_and_on_marks_that_ask_for_less_than_two_packets() -> None:
    assert check(scene("alpha/2")) == []
    assert check(scene(None)) == []
    # Run s6173-087: growth gives back most of 12 % of ten packets.
    assert check(scene(half_alpha=0.115, window_packets=10.0)) == []


def test_silent_where_the_capture_began_late() -> None:
    """Alpha at the start is not known there."""
    assert check(scene(handshake="none")) == []


def test_silent_where_a_link_releases_packets_in_bursts() -> None:
    """Run s1701-137, slots of 8 to 9 ms: what is in flight follows the link, not the window."""
    (found,) = check(scene(release_us=8500.0))
    assert isinstance(found, Skipped)
