"""Signs of losses and of delays without marks."""

import pytest

from l4strace.bottleneck.evidence import Direction
from l4strace.bottleneck.sign import Sign
from l4strace.bottleneck.signs import losses

FULL = {
    "lost_rounds": 5,
    "lost_low_us": 19e3,
    "lost_high_us": 20e3,
    "path_max_us": 21e3,
    "path_lost": 12,
    "path_lost_rounds": 5,
    "path_lost_low_us": 19e3,
    "path_lost_high_us": 20e3,
}
BELOW = {
    "lost_low_us": 5e3,
    "path_lost_low_us": 5e3,
    "path_lost_high_us": 9e3,
    "path_max_us": 20e3,
}
POLICED = {
    "policed_bps": 9.55e6,
    "policed_uneven": 0.024,
    "lost_us": 1_000.0,
    "queue_high_us": 3_000.0,
    "path_queued_losses": 0.0,
}
SACK_HELD = POLICED | {"lost_us": 3_400.0, "queue_high_us": 100.0}
RANDOM = {
    "lost": 4,
    "losses": 4,
    "lost_rounds": 4,
    "lost_us": 100.0,
    "acked": 900,
    "path_lost_us": 100.0,
    "path_queued_losses": 0.0,
}


@pytest.mark.parametrize(
    ("sign", "shown", "denied"),
    [
        (losses.some, {"lost": 1, "lost_us": 50.0}, {"lost": 0, "lost_us": 50.0}),
        (losses.none, {}, {"lost": 1}),
        (losses.without_queue, {"lost_us": 1_900.0}, {"lost_us": 2_100.0}),
        (losses.with_queue, {"lost_us": 2_100.0}, {"lost_us": 2_100.0, "noise_us": 500.0}),
        (losses.in_groups, {"group_lost": 4.0}, {"group_lost": 1.5}),
        (losses.one_rate, POLICED, POLICED | {"policed_uneven": 0.2}),
        # Two packets at 9.55 Mbit/s take 2.5 ms.
        (losses.no_room, POLICED, POLICED | {"lost_us": 2_600.0}),
        # A receiver that holds SACKs back for 1 ms; a queue stands without losses, too.
        (losses.no_room, SACK_HELD, SACK_HELD | {"queue_high_us": 2_600.0}),
        (losses.no_room, SACK_HELD, SACK_HELD | {"lost_us": 3_600.0}),
        # Run s4417-001: a flow that starts meets the buffer that the one beside it keeps short.
        (losses.no_room, POLICED, POLICED | {"path_queued_losses": 0.33}),
        (losses.shallow, {"queue_high_us": 9_900.0}, {"queue_high_us": 10_000.0}),
        (losses.always_full, FULL, FULL | {"path_max_us": 30e3}),
        # Four rounds may be one overflow.
        (losses.always_full, FULL, FULL | {"lost_rounds": 4, "path_lost_rounds": 4}),
        # One packet at a time is what CoDel drops.
        (losses.always_full, FULL, FULL | {"path_lost": 5}),
        # PIE and RED drop at any height.
        (losses.always_full, FULL, FULL | {"path_lost_low_us": 9e3}),
        # Few losses of its own: those of all flows of the path.
        (
            losses.always_full,
            FULL | {"lost_rounds": 1, "lost_low_us": 1e3},
            FULL | {"lost_low_us": 1e3},
        ),
        (
            losses.below_largest,
            {"lost_rounds": 8, "lost_us": 5e3, "top_us": 20e3},
            {"lost_rounds": 7, "lost_us": 5e3, "top_us": 20e3},
        ),
        (losses.never_full, BELOW, BELOW | {"path_lost_high_us": 15e3}),
        # A FIFO of changing rate drops at a few different delays.
        (losses.never_full, BELOW, BELOW | {"phases": 2}),
        (losses.never_full, BELOW, BELOW | {"lost_low_us": 100.0}),
        (losses.standing, {"queue_delay_us": 5e3}, {"queue_delay_us": 1e3}),
        (losses.flat, {"queue_max_us": 1e3}, {"queue_max_us": 5e3}),
        (losses.jitter, {"noise_us": 3e3}, {"noise_us": 1e3}),
        (losses.quiet_path, {}, {"path_marks": 1}),
        # A capture that began late has missed what another one shows.
        (losses.quiet_path, {}, {"seen_losses": 1}),
        (losses.unanswered, {"queue_high_us": 20e3}, {"queue_high_us": 19e3}),
        (losses.before, {"losses": 81, "lost_before": 99}, {"losses": 81, "lost_before": 40}),
        (losses.before, {"losses": 0, "lost_before": 3}, {"losses": 0, "lost_before": 0}),
        (losses.idle, RANDOM, RANDOM | {"lost_before": 2}),
        (losses.idle, RANDOM, RANDOM | {"lost_us": 5e3}),
        (losses.idle, RANDOM, RANDOM | {"lost_rounds": 2}),
        (losses.idle, RANDOM, RANDOM | {"losses": 50}),
        (losses.idle, RANDOM, RANDOM | {"marks": 500}),
        (losses.idle, RANDOM, RANDOM | {"path_queued_losses": 0.6}),
        (losses.idle, RANDOM, RANDOM | {"path_lost_us": 9e3}),
        # Run s4417-001: DualPI2 drops packets of a sender that hears of no mark.
        (
            losses.idle,
            RANDOM | {"erased": True},
            RANDOM | {"erased": True, "path_queued_losses": 0.2},
        ),
    ],
)
def test_a_sign(sign: Sign, shown: dict[str, object], denied: dict[str, object]) -> None:
    assert sign(Direction(**shown)).true is True
    assert sign(Direction(**denied)).true is False


def test_packets_under_way_on_a_slow_link_are_no_queue() -> None:
    assert losses.standing_us(Direction()) == 2_000.0
    assert losses.standing_us(Direction(serialisation_us=12_000.0)) == 24_000.0
    assert losses.standing_us(Direction(serialisation_us=1_000.0, noise_us=500.0)) == 3_500.0


def test_what_is_not_known_shows_nothing() -> None:
    for sign in (losses.some, losses.with_queue, losses.always_full, losses.flat, losses.idle):
        assert sign(Direction()).true is not True
