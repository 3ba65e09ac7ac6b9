"""What keeps the score up: the AQM, the path, the build."""

import pytest

from l4strace.fallback.causes import Cause, of_hidden, of_l4s
from l4strace.fallback.conditions import Conditions
from l4strace.fallback.place import Place


@pytest.mark.parametrize(
    ("columns", "mdev_us", "cause"),
    [
        ({}, 1100.0, None),
        ({"jitter_us": 800.0}, 1100.0, "jitter"),
        # Simulated run s8101-078: 66 round trips are too few for a bottleneck, the path has a rate.
        ({"link_us": 2768.0}, 1100.0, "slow link"),
        ({"serialisation_us": 2768.0}, 1100.0, None),
        ({"serialisation_us": 2768.0, "busy": True}, 1100.0, "slow link"),
        # Simulated run s8104-116: a queue looks like jitter, and no path adds less than it moves.
        ({"link_us": 4326.0, "jitter_us": 2587.0}, 1100.0, "slow link"),
        ({"link_us": 5288.0, "jitter_us": 15_991.0}, 19_062.0, "slow link"),
        ({"link_us": 2130.0, "jitter_us": 5873.0}, 3955.0, "jitter"),
    ],
)
def test_the_cause_is_named_that_is_as_large_as_the_deviation(
    columns: dict[str, object], mdev_us: float, cause: Cause | None
) -> None:
    assert of_hidden(Place(**columns), mdev_us) == cause
    assert of_hidden(Place("fifo", **columns), mdev_us) is None


@pytest.mark.parametrize(
    ("columns", "mdev_us", "cause"),
    [
        ({}, 1100.0, "path"),
        ({"serialisation_us": 3028.0}, 1100.0, "slow link"),
        # Lab run s1701-001: an application paces the flow to one packet in 19.5 ms.
        ({"serialisation_us": 19_500.0}, 740.0, "path"),
        ({"serialisation_us": 1520.0, "jitter_us": 2900.0}, 1100.0, "jitter"),
        ({"queue_delay_us": 14_700.0, "jitter_us": 2900.0}, 120.0, "long queue"),
        ({"queue_delay_us": 2200.0, "noise_us": 300.0}, 120.0, "path"),
    ],
)
def test_behind_an_l4s_aqm_one_condition_of_the_path_is_blamed(
    columns: dict[str, object], mdev_us: float, cause: Cause
) -> None:
    assert of_l4s(Place("l4s", 0.9, **columns), mdev_us) == cause


@pytest.mark.parametrize(
    ("then", "cause"),
    [
        (Conditions(changed_ns=5), "changed path"),
        (Conditions(changed_ns=5, packet_us=2550.0), "slow link"),
        (Conditions(changed_ns=5, packet_us=2550.0, marks=False), "changed path"),
        (Conditions(changed_ns=5, overshot=True), "changed path"),
        (Conditions(overshot=True), "overshoot"),
    ],
)
def test_what_happened_at_that_time_comes_before_what_is_always_so(
    then: Conditions, cause: Cause
) -> None:
    assert of_l4s(Place("l4s", 0.9, queue_delay_us=9e3, jitter_us=2900.0), 1100.0, then) == cause
