"""Changes of capacity, and what only looks like one."""

import pytest

from l4strace.derive import changes
from tests.support.frames import MS
from tests.support.slots import WIDTH, slots

FULL = {"count": 30}
SLOW = {"count": 30, "delivered_bps": 5e6, "train_bps": 5e6}
QUEUE = {"peak_us": 90_000.0, "delivered_bps": 5e6, "train_bps": 5e6}
"""Just after the rate fell: the flight of the old rate leaves at the new one."""


def test_a_fall_and_a_rise_have_their_times() -> None:
    found = changes.capacity_changes(slots(FULL, QUEUE, SLOW, FULL))
    assert [(c.first, c.at_ns, c.what) for c in found] == [
        (30, 30 * WIDTH, "capacity"),
        (61, 61 * WIDTH, "capacity"),
    ]


def test_a_fall_inside_a_slot_is_dated_by_its_bits() -> None:
    """A third of the slot at 50, two thirds at 5 Mbit/s."""
    mixed = {"delivered_bps": 50e6 / 3 + 5e6 * 2 / 3, "peak_us": 90_000.0}
    (found,) = changes.capacity_changes(slots(FULL, mixed, SLOW))
    assert found.at_ns == pytest.approx((30 + 1 / 3) * WIDTH, abs=MS)


@pytest.mark.parametrize(
    "after",
    [
        pytest.param(SLOW | {"marks": 0.0}, id="the queue is empty: the sender backed off"),
        pytest.param(SLOW | {"held_back": 1.0}, id="the application has less to send"),
        pytest.param(SLOW | {"train_bps": 50e6}, id="trains are as fast as before"),
        pytest.param(SLOW | {"delivered_bps": 40e6}, id="less, but not clearly"),
        pytest.param(SLOW | {"count": 3}, id="a stall"),
    ],
)
def test_what_is_no_fall(after: dict[str, object]) -> None:
    calm = {"peak_us": 90_000.0} | {k: v for k, v in after.items() if k != "count"}
    assert changes.capacity_changes(slots(FULL, calm, after, {"count": 12})) == []


def test_marked_packets_that_leave_as_fast_as_before_show_no_fall() -> None:
    """Simulated run s8103-206: short flows at 10 of 18 Mbit/s, marked for their bursts."""
    for probe, count in ((50e6, 0), (5e6, 1), (None, 1)):
        bursts = SLOW | {"probe_bps": probe}
        found = changes.capacity_changes(slots(FULL, QUEUE | {"probe_bps": probe}, bursts))
        assert len(found) == count


def test_a_fall_without_the_queue_that_it_must_leave_is_none() -> None:
    assert changes.capacity_changes(slots(FULL, SLOW)) == []


SHORT_QUEUE = QUEUE | {"peak_us": 3000.0}
"""An AQM that drops keeps the queue below a quarter of what the flight leaves (90 ms)."""


def test_losses_that_went_before_show_no_fall() -> None:
    """Slow start overran the buffer: the sender is slow because of that."""
    overrun = {"count": 5, "lost": 40.0}
    found = changes.capacity_changes(slots(FULL, overrun, SHORT_QUEUE | {"lost": 40.0}, SLOW))
    assert found == []


def test_a_fall_shows_in_what_an_aqm_drops_of_the_flight() -> None:
    """40 packets of 1514 bytes take 97 ms at 5 Mbit/s."""
    found = changes.capacity_changes(slots(FULL, SHORT_QUEUE | {"lost": 40.0}, SLOW))
    assert [c.first for c in found] == [30]


@pytest.mark.parametrize(
    ("queue", "after"),
    [
        pytest.param({"lost": 30.0}, SLOW, id="a third of the flight is not accounted for"),
        pytest.param({"lost": 40.0, "train_bps": None}, SLOW | {"train_bps": None}, id="no train"),
        pytest.param({"lost": 40.0, "peak_us": 500.0}, SLOW, id="no queue at all"),
    ],
)
def test_what_loss_does_not_show(queue: dict[str, object], after: dict[str, object]) -> None:
    assert changes.capacity_changes(slots(FULL, SHORT_QUEUE | queue, after)) == []


def test_losses_hide_the_trains_for_a_while() -> None:
    """Lab run s901-024: 27.9 to 3.3 Mbit/s, no train while 60 packets were repaired."""
    repair = {"count": 6, "delivered_bps": 5e6, "train_bps": None, "lost": 6.0, "peak_us": 3000.0}
    assert changes.capacity_changes(slots(FULL, repair, SLOW))[0].first == 30
    assert changes.capacity_changes(slots(FULL, repair, SLOW | {"train_bps": 50e6})) == []


GAPLESS = SLOW | {"marks": 0.0, "queue_us": 20.0, "peak_us": 25_000.0}
"""The queue runs empty once in every slot, yet packets leave at the rate of their trains."""
FILLED = FULL | {"marks": 0.0, "queue_us": 20_000.0}


def test_a_path_without_gaps_is_full_though_its_queue_runs_empty() -> None:
    """Lab run s1001-053: 3.1, then 1.5, then 3.1 Mbit/s behind an AQM that drops."""
    again = FULL | {"marks": 0.0}
    found = changes.capacity_changes(slots(FILLED, QUEUE | {"marks": 0.0}, GAPLESS, again))
    assert [c.first for c in found] == [30, 61]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param({"train_bps": 6e6}, id="packets leave faster than they come"),
        pytest.param({"peak_us": 1500.0}, id="no packet waits"),
        pytest.param({"held_back": 1.0}, id="the application has less to send"),
    ],
)
def test_what_leaves_gaps(after: dict[str, object]) -> None:
    queue = QUEUE | {"marks": 0.0}
    assert changes.capacity_changes(slots(FILLED, queue, GAPLESS | after)) == []


def growing(share: float) -> list[dict[str, object]]:
    """A path that its flows do not fill yet, without marks or queue."""
    return [{"delivered_bps": share * 2e6 * n, "marks": 0.0} for n in range(10, 25)]


STANDING = SLOW | {"queue_us": 20_000.0}


def test_a_path_that_was_not_full_falls_below_its_use() -> None:
    found = changes.capacity_changes(slots(*growing(1.0), QUEUE | {"queue_us": 2e4}, STANDING))
    assert [c.first for c in found] == [15]


def test_an_aqm_that_holds_two_packets_lets_one_wait_for_more_than_one() -> None:
    """Lab run s901-013: 17.7 ms at 1 Mbit/s, where a packet takes 12.1 ms."""
    slow = {"count": 30, "delivered_bps": 1e6, "train_bps": 1e6, "queue_us": 17_700.0}
    flight = slow | {"count": 1, "peak_us": 200_000.0}
    steps = changes.capacity_changes(slots(*growing(1.0), flight, slow))
    assert [c.first for c in steps] == [15]
    empty = {"queue_us": 11_000.0}
    assert changes.capacity_changes(slots(*growing(1.0), flight | empty, slow | empty)) == []


@pytest.mark.parametrize(
    ("share", "after"),
    [
        pytest.param(0.1, STANDING, id="the flows sent less than the path still carries"),
        pytest.param(1.0, SLOW, id="marks without a standing queue: the sender backed off"),
    ],
)
def test_what_is_no_fall_below_the_use(share: float, after: dict[str, object]) -> None:
    queue = {k: v for k, v in after.items() if k == "queue_us"}
    assert changes.capacity_changes(slots(*growing(share), QUEUE | queue, after)) == []


def test_a_standing_queue_below_the_use_needs_no_great_fall() -> None:
    """Lab run s1001-090: 219, then 158 Mbit/s with a queue. No path delivers more than it has."""
    less = STANDING | {"delivered_bps": 33e6, "train_bps": 33e6}
    flight = less | {"count": 1, "peak_us": 90_000.0}
    assert [c.first for c in changes.capacity_changes(slots(*growing(1.0), flight, less))] == [15]
    smeared = {"train_bps": None, "lost": 20.0}
    assert changes.capacity_changes(slots(*growing(1.0), flight | smeared, less | smeared)) == []


def test_jitter_is_no_standing_queue() -> None:
    """Lab run s1001-106: 6 ms of jitter, 4 ms above the fastest packet of all."""
    noise = {"noise_us": 25_000.0}
    queue = QUEUE | {"queue_us": 2e4} | noise
    assert changes.capacity_changes(slots(*growing(1.0), queue, STANDING | noise)) == []


def test_what_one_long_repair_delivers_is_no_level_to_rise_from() -> None:
    """Lab run s1001-029: a round of a second at 5.6 of 10 Mbit/s, smeared over its slots."""
    repair = QUEUE | {"count": 8, "train_bps": None, "lost": 20.0}
    twice = {"count": 20, "delivered_bps": 10e6, "train_bps": 10e6}
    found = changes.capacity_changes(slots(FULL, repair, {"delivered_bps": 30e6}, twice))
    assert [c.first for c in found] == [30]


GROWS = {"count": 2, "delivered_bps": 5e6, "train_bps": 5e6, "queue_us": 30_000.0}
"""The queue of a fall, which the senders drain at once: what follows is not busy."""
BACKED_OFF = {"count": 20, "delivered_bps": 2e6, "train_bps": 2e6, "marks": 0.0}


def test_a_queue_that_grows_while_less_is_delivered_shows_a_fall() -> None:
    """Lab run s1201-097: 43.8 to 13 Mbit/s, with half of that used afterwards."""
    (found,) = changes.capacity_changes(slots(FULL, GROWS, BACKED_OFF))
    assert (found.first, found.shown_bps) == (30, 5e6)


@pytest.mark.parametrize(
    "grows",
    [
        pytest.param({"queue_us": 0.0}, id="the queue is empty: the sender backed off"),
        pytest.param({"queue_us": 4000.0}, id="a packet and a half"),
        pytest.param({"noise_us": 40_000.0}, id="jitter"),
        pytest.param({"held_back": 1.0}, id="the application has less to send"),
        pytest.param({"lost": 200.0}, id="a long repair, smeared over its slots (s1001-032)"),
        pytest.param({"delivered_bps": 45e6}, id="hardly less"),
    ],
)
def test_what_is_no_surge(grows: dict[str, object]) -> None:
    assert changes.capacity_changes(slots(FULL, GROWS | grows, BACKED_OFF)) == []


def test_a_flood_of_marks_with_slower_trains_shows_a_fall() -> None:
    """Lab run s1101-008: 21 ms of queue, 72 % marked; it is gone before the slot ends."""
    flood = GROWS | {"queue_us": 0.0, "peak_us": 21_000.0, "marks": 300.0}
    assert [c.first for c in changes.capacity_changes(slots(FULL, flood, BACKED_OFF))] == [30]
    for own in ({"train_bps": 50e6}, {"marks": 100.0}, {"peak_us": 600.0}):
        assert changes.capacity_changes(slots(FULL, flood | own, BACKED_OFF)) == []


def test_marks_without_any_queue_show_no_capacity_to_rise_from() -> None:
    """Lab run s1201-119: two flows grow from 1.2 to 3.2 of 4.4 Mbit/s, marked for their bursts."""
    early = {"count": 25, "delivered_bps": 1.5e6, "peak_us": 2000.0}
    grown = {"count": 10, "delivered_bps": 2.2e6, "peak_us": 2000.0}
    assert changes.capacity_changes(slots(early, grown)) == []
    full = early | {"peak_us": 8000.0}
    assert [c.first for c in changes.capacity_changes(slots(full, grown))] == [25]


def test_uneven_slots_after_a_fall_rise_again() -> None:
    """Lab run s1201-103: 0.9 to 1.4 of 1.26 Mbit/s while losses hide the trains, then 3."""
    uneven = [QUEUE | {"delivered_bps": 5e6 * n, "train_bps": None} for n in (1.4, 1, 1.2, 0.9)]
    found = changes.capacity_changes(slots(FULL, QUEUE, *uneven, *uneven, *uneven, FULL))
    assert [c.first for c in found] == [30, 43]


def test_delays_within_the_noise_are_no_standing_queue() -> None:
    """Lab run s1201-134: jitter of 8 ms; a sender that backs off does not show a fall."""
    noise = {"noise_us": 14_000.0}
    before = FILLED | noise | {"peak_us": 40_000.0}
    after = SLOW | noise | {"marks": 0.0, "queue_us": 5000.0, "peak_us": 40_000.0}
    after |= {"train_bps": 8e6}  # faster than what is delivered: gaps
    assert changes.capacity_changes(slots(before, after)) == []


def test_slow_start_is_no_rise() -> None:
    ramp = [{"delivered_bps": 50e6 * n / 15} for n in range(1, 16)]
    assert changes.capacity_changes(slots(*ramp, FULL)) == []


def test_what_two_rounds_share_for_less_than_one_is_no_rise() -> None:
    """Lab run s1401-114: one flow ended in a queue of 1.5 s, and the other got its part."""
    deep = {"queue_us": 1.5e6, "peak_us": 2e6}
    both = {"count": 8, "delivered_bps": 65e6} | deep
    assert changes.capacity_changes(slots(FULL | deep, both, {"count": 12} | deep)) == []
    lasting = both | {"count": 20}
    assert len(changes.capacity_changes(slots(FULL | deep, lasting))) == 1


def test_growth_after_a_rise_is_one_change() -> None:
    ramp = [{"delivered_bps": 1e6 * n, "marks": 0.0} for n in range(7, 50, 3)]
    found = changes.capacity_changes(slots(FULL, QUEUE, SLOW, *ramp, FULL))
    assert [c.first for c in found] == [30, 61]


def test_capacity_is_shown_by_busy_slots_that_agree() -> None:
    assert changes.shown(slots(FULL)) == 50e6
    assert changes.shown(slots({"count": 30, "marks": 0.0})) is None
    assert changes.shown(slots(*({"delivered_bps": 1e6 * n} for n in range(1, 30)))) is None


LONG_BELOW = {"count": 25, "delivered_bps": 5e6, "train_bps": 6e6}
BURST = LONG_BELOW | {"count": 1, "peak_us": 37_000.0, "lost": 100.0}
"""Just after the fall: most of the flight of a path that was not full is dropped."""


def test_marks_in_every_slot_far_below_the_use_and_a_lost_flight_show_a_fall() -> None:
    """Lab run s2001-027: 9.3 of 13.7 Mbit/s, then 2.8 Mbit/s with 37 ms of queue and losses."""
    assert [c.first for c in changes.capacity_changes(slots(*growing(1.0), BURST, LONG_BELOW))] == [
        15
    ]


@pytest.mark.parametrize(
    "after",
    [
        pytest.param({"train_bps": 45e6}, id="trains are as fast as before"),
        pytest.param({"marks": 0.0}, id="the sender backed off, and nothing marks it"),
        pytest.param({"count": 7}, id="it does not last"),
    ],
)
def test_what_a_lost_flight_does_not_show(after: dict[str, object]) -> None:
    calm = {k: v for k, v in after.items() if k != "count"}
    stretches = (*growing(1.0), BURST | calm, LONG_BELOW | after, {"delivered_bps": 48e6})
    assert changes.capacity_changes(slots(*stretches)) == []


def test_a_queue_that_stands_for_long_far_below_the_use_shows_a_fall() -> None:
    """Lab run s2101-045: 5 Mbit/s, then 1 Mbit/s; the AQM dropped what the fall left in flight."""
    before = {"count": 15, "delivered_bps": 50e6, "marks": 0.0, "lost": 50.0}
    slow = {"count": 25, "delivered_bps": 5e6, "train_bps": None, "marks": 0.0, "lost": 10.0}
    queue = slow | {"queue_us": 17_000.0}
    found = changes.capacity_changes(
        slots(before, queue | {"count": 1}, queue | {"train_bps": 4e6})
    )
    assert [c.first for c in found] == [15]
    assert changes.capacity_changes(slots(before, slow | {"train_bps": 4e6})) == []


def test_a_queue_that_stands_in_a_full_window_fills_the_path() -> None:
    """Simulated run s8104-007: 24.6 to 5.3 Mbit/s, and the receive window held one of two flows."""
    held = {"held_back": 0.5, "queue_us": 208_000.0, "floor_us": 207_700.0, "marks": 0.0}
    late = SLOW | held | {"count": 6, "train_bps": 50e6, "peak_us": 570_000.0}
    found = changes.capacity_changes(slots(FULL | held, late, SLOW | held, FULL | held))
    assert [c.first for c in found] == [34, 66]
    (alone,) = slots(held | {"floor_us": 0.0})
    assert not alone.busy


def test_a_flight_that_was_dropped_but_for_a_part_shows_a_fall() -> None:
    """Simulated run s8105-135: a sender that hears of losses sends less meanwhile."""
    for lost, first in ((40.0, [15]), (30.0, [15]), (20.0, [])):
        stretches = (*growing(1.0), BURST | {"lost": lost}, LONG_BELOW)
        assert [c.first for c in changes.capacity_changes(slots(*stretches))] == first


def test_a_fall_that_losses_hide_is_left_by_a_rise() -> None:
    """Simulated run s8105-123: 86 to 20.7 Mbit/s and back, which nothing but repairs showed."""
    hidden = [QUEUE | {"delivered_bps": 5e6 * n, "train_bps": None} for n in (0.5, 1.3, 0.6, 1.2)]
    uneven = [SLOW | {"count": 1, "delivered_bps": 5e6 * n, "marks": 0.0} for n in (0.6, 1.6, 0.7)]
    found = changes.capacity_changes(slots(FULL, QUEUE, *hidden, *(4 * uneven), FULL))
    assert [c.first for c in found] == [30, 47]
