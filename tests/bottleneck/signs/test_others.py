"""Whether flows wait in one queue: by their delays, their rates and the first packets of others."""

import pytest

from l4strace.bottleneck.evidence import Direction, Neighbors
from l4strace.bottleneck.sign import Sign
from l4strace.bottleneck.signs import others

PATH = {"mark_limit_us": 3_000.0, "floor_us": 10e3, "base_us": 10e3, "serialisation_us": 600.0}
ALIKE = {"slots": 20, "gap": 0.1, "corr": 0.9, "queue_us": 9e3, "own_queue_us": 9e3}
TURNS = {"waiting": 20, "uneven": 0.02, "unlike": 0.2}
FAR = {"slots": 20, "least_us": 0.0}


@pytest.mark.parametrize(
    ("sign", "own", "shown", "denied"),
    [
        (others.compared, {}, {"slots": 10}, {"slots": 9}),
        (
            others.waited,
            {"noise_us": 1e3},
            ALIKE,
            ALIKE | {"queue_us": 500.0, "own_queue_us": 600.0, "gap": 0.5},
        ),
        # Simulated run s9901-132: 72 us beside 47 us, where a packet takes 121 us, are no queues.
        (
            others.waited,
            {"serialisation_us": 121.0},
            FAR | {"queue_us": 470.0, "own_queue_us": 720.0, "gap": 0.32},
            FAR | {"queue_us": 47.0, "own_queue_us": 72.0, "gap": 0.32},
        ),
        (others.surely_alike, {}, ALIKE, ALIKE | {"gap": 0.3}),
        (others.surely_alike, {}, ALIKE, ALIKE | {"corr": 0.6}),
        # A path that changes moves all its queues.
        (others.surely_alike, {}, ALIKE | {"within": 0.5}, ALIKE | {"within": 0.4}),
        (others.surely_alike, {}, ALIKE | {"apart": 0.04}, ALIKE | {"apart": 0.05}),
        # Equal rates at unlike RTTs are what one queue hardly ever gives.
        (others.surely_alike, {}, ALIKE, ALIKE | TURNS),
        (others.alike, {}, ALIKE | {"gap": 0.3, "corr": 0.6}, ALIKE | {"gap": 0.4}),
        # RED whose queue swings faster than the slots leaves no correlation.
        (
            others.alike,
            {},
            ALIKE | {"corr": 0.0},
            ALIKE | {"corr": 0.0, "queue_us": 2e3, "own_queue_us": 2e3},
        ),
        (
            others.apart,
            {},
            FAR | {"queue_us": 1e3, "own_queue_us": 9e3, "gap": 0.6, "corr": 0.6},
            ALIKE,
        ),
        # The farther apart, the less their moves count.
        (
            others.apart,
            {},
            FAR | {"queue_us": 1e3, "own_queue_us": 9e3, "gap": 0.2, "corr": 0.2},
            FAR | {"queue_us": 1e3, "own_queue_us": 9e3, "gap": 0.2, "corr": 0.4},
        ),
        # It never waited less: the path may be longer.
        (
            others.longer_path,
            {"floor_us": 14e3},
            FAR | {"queue_us": 1e3, "own_queue_us": 9e3},
            FAR | {"queue_us": 1e3, "own_queue_us": 19e3},
        ),
        (
            others.longer_path,
            {},
            FAR | {"queue_us": 9e3, "own_queue_us": 1e3, "least_us": 4e3},
            FAR | {"queue_us": 9e3, "own_queue_us": 1e3},
        ),
        (others.in_turn, {}, TURNS, TURNS | {"unlike": 0.05}),
        (others.in_turn, {}, TURNS, TURNS | {"uneven": 0.1, "unlike": 0.4}),
        (others.in_turn, {}, TURNS, TURNS | {"waiting": 9}),
        (
            others.out_of_turn,
            {},
            ALIKE | {"waiting": 10, "uneven": 0.5},
            ALIKE | {"waiting": 10, "uneven": 0.4},
        ),
        (
            others.out_of_turn,
            {},
            ALIKE | {"waiting": 5, "uneven": 3.0},
            ALIKE | {"waiting": 4, "uneven": 3.0},
        ),
        (
            others.wait_longer,
            {},
            FAR | {"queue_us": 9e3, "own_queue_us": 1e3},
            FAR | {"queue_us": 3.9e3, "own_queue_us": 1e3},
        ),
        # Delays that differ by less than a packet do so in one queue, too.
        (
            others.wait_longer,
            {"serialisation_us": 1e3},
            FAR | {"queue_us": 9e3, "own_queue_us": 1e3},
            FAR | {"queue_us": 1.1e3, "own_queue_us": 200.0},
        ),
        (
            others.wait_less,
            {},
            FAR | {"queue_us": 1e3, "own_queue_us": 9e3},
            FAR | {"queue_us": 3e3, "own_queue_us": 9e3},
        ),
        # A packet that overtook the others makes all others seem to wait.
        (
            others.wait_less,
            {"late_share": 0.1},
            FAR | {"queue_us": 1e3, "own_queue_us": 9e3},
            FAR | {"queue_us": 3e3, "own_queue_us": 9e3},
        ),
        (
            others.unmarkable_beside,
            {"marking_delay_us": 2e3},
            FAR | {"queue_us": 1e3, "own_queue_us": 500.0, "ect0": 0},
            FAR | {"queue_us": 1e3, "own_queue_us": 500.0, "ect0": 20},
        ),
        (
            others.waits_no_less,
            {"marked_as": "not_ect"},
            FAR | {"queue_us": 1e3, "own_queue_us": 9e3},
            FAR | {"queue_us": 9e3, "own_queue_us": 9e3},
        ),
    ],
)
def test_a_sign_of_the_flows_beside(
    sign: Sign, own: dict[str, object], shown: dict[str, float], denied: dict[str, float]
) -> None:
    d = Direction(**PATH | own)
    assert sign(d, Neighbors(**shown)).true is True
    assert sign(d, Neighbors(**denied)).true is False


def test_what_overtook_others_is_not_taken_for_a_wait() -> None:
    longer = Neighbors(**FAR, queue_us=1e3, own_queue_us=9e3)
    overtaken = Direction(**PATH, late_share=0.1, flat=False)
    assert not others.wait_less(overtaken, longer).true


@pytest.mark.parametrize(
    ("changed", "own", "one"),
    [
        ({}, True, False),
        ({"first_slots": 2, "first_passed": 2}, False, False),
        ({"first_apart_us": -1.0}, False, False),
        ({"first_met": 10, "first_passed": 0}, False, True),
        ({"first_met": 8, "first_passed": 1}, False, True),
        ({"first_slots": 17, "first_met": 2, "first_passed": 15}, True, False),  # s1201-122
        ({"first_slots": 17, "first_met": 3, "first_passed": 14}, False, False),
        ({"first_met": 5, "first_passed": 5}, False, False),
        ({"first_slots": 0}, False, False),
    ],
)
def test_what_nearly_all_flows_say_that_begin_counts(
    changed: dict[str, float], own: bool, one: bool
) -> None:
    plain = {"first_slots": 10, "first_met": 0, "first_passed": 10, "first_apart_us": 5_000.0}
    d = Direction(**plain | changed)
    assert bool(others.first_packets_pass(d).true) is own
    assert bool(others.first_packets_wait(d).true) is one


def test_without_flows_beside_nothing_is_shown() -> None:
    d = Direction(**PATH)
    for sign in (others.compared, others.surely_alike, others.alike, others.apart, others.in_turn):
        assert sign(d).true is not True
