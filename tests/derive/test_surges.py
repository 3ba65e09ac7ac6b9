"""A path that delivers less than before although it is full."""

import pytest

from l4strace.derive import changes, surges
from tests.support.slots import slots

FULL = {"count": 30}
LESS = {"delivered_bps": 20e6, "train_bps": 20e6, "marks": 0.0}
ROUND = LESS | {"marks": 60.0, "full_bps": 25e6}
"""A round in the queue of a fall, which the sender drains within the slot."""
BACKED_OFF = LESS | {"count": 20, "delivered_bps": 12e6, "train_bps": 45e6}
OVERFLOW = LESS | {"count": 20, "train_bps": None, "lost": 120.0, "peak_us": None, "queue_us": None}


def test_a_whole_round_in_the_queue_shows_what_the_path_carries() -> None:
    """Lab run s2501-062: one round at 84 of 112 Mbit/s, every packet of it late and marked."""
    (found,) = changes.capacity_changes(slots(FULL, ROUND, BACKED_OFF))
    assert (found.first, found.shown_bps) == (30, 25e6)


@pytest.mark.parametrize(
    "own",
    [
        pytest.param({"full_bps": 45e6}, id="the path carries hardly less"),
        pytest.param({"held_back": 1.0}, id="the application has less to send"),
        pytest.param({"lost": 200.0}, id="a long repair"),
    ],
)
def test_what_a_whole_round_does_not_show(own: dict[str, object]) -> None:
    assert changes.capacity_changes(slots(FULL, ROUND | own, BACKED_OFF)) == []


def test_losses_that_go_on_show_a_full_path() -> None:
    """Simulated run s8101-236: BBR at 43 Mbit/s, then 11.5 with as much lost as delivered."""
    (found,) = changes.capacity_changes(slots(FULL, OVERFLOW))
    assert (found.first, found.shown_bps) == (30, 20e6)


@pytest.mark.parametrize(
    "own",
    [
        pytest.param({"lost": 40.0}, id="noise loses less"),
        pytest.param({"count": 4}, id="a repair is over before"),
        pytest.param({"delivered_bps": 45e6}, id="as much arrives as before"),
    ],
)
def test_losses_that_show_none(own: dict[str, object]) -> None:
    rest = LESS | {"count": 20}
    assert changes.capacity_changes(slots(FULL, OVERFLOW | own, rest)) == []


def test_what_went_before_must_be_seen() -> None:
    few = slots({"count": surges.SEEN - 1}, ROUND, BACKED_OFF)
    assert surges.surged(few[: surges.SEEN - 1], few[surges.SEEN - 1 :][:6]) is None
