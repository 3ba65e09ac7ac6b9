"""A path that delivers less than before although it is full."""

import pytest

from l4strace.derive import changes, surges
from tests.support.slots import slots

FULL = {"count": 30}
LESS = {"delivered_bps": 20e6, "train_bps": 20e6, "marks": 0.0}
OVERFLOW = LESS | {"count": 20, "train_bps": None, "lost": 120.0, "peak_us": None, "queue_us": None}


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
    few = slots({"count": surges.SEEN - 1}, OVERFLOW)
    assert surges.surged(few[: surges.SEEN - 1], few[surges.SEEN - 1 :][:6]) is None
