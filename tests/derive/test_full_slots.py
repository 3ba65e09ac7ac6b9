"""What shows that a path was full in a slot."""

import pytest

from l4strace.derive import full_slots
from tests.support.slots import slots


@pytest.mark.parametrize(
    ("values", "busy"),
    [
        pytest.param({"marks": 2.0}, True, id="marks"),
        pytest.param({"marks": 0.0}, False, id="neither marks nor queue"),
        pytest.param({"marks": 0.0, "queue_us": 5000.0}, True, id="even the fastest packet waits"),
        pytest.param({"marks": 0.0, "queue_us": 5000.0, "noise_us": 6e3}, False, id="jitter"),
        pytest.param({"held_back": 1.0}, False, id="marks of a flow that its window holds"),
        pytest.param(
            {"held_back": 1.0, "queue_us": 5000.0, "floor_us": 4000.0}, True, id="all flows wait"
        ),
    ],
)
def test_a_slot_is_busy(values: dict[str, float], busy: bool) -> None:
    assert slots(values)[0].busy is busy


def test_one_packet_at_the_rate_of_the_slot() -> None:
    (slot,) = slots({"delivered_bps": 12.112e6})
    assert full_slots.packet_us(slot) == pytest.approx(1000.0)


def test_the_last_slots_show_the_use() -> None:
    past = slots({"count": 9, "delivered_bps": 1e6}, {"count": 5, "delivered_bps": 3e6})
    assert full_slots.used(past) == 3e6


def test_repairs_smear_their_rates() -> None:
    assert full_slots.whole(slots({"count": 3}, {"count": 2, "train_bps": None}))
    assert not full_slots.whole(slots({"count": 2}, {"count": 3, "train_bps": None}))
