"""What keeps the score up whatever the AQM is: jitter, or the time of a packet."""

import pytest

from l4strace.rules.support import path_causes

CALM = {"jitter_us": 0.0, "busy": False, "link_us": None, "serialisation_us": None}


@pytest.mark.parametrize(
    ("columns", "explained", "by_packet"),
    [
        ({}, False, False),
        ({"jitter_us": 800.0}, True, False),
        # Simulated run s8101-078: 66 round trips are too few for a bottleneck, the path has a rate.
        ({"link_us": 2768.0}, True, True),
        ({"serialisation_us": 2768.0}, False, False),
        ({"serialisation_us": 2768.0, "busy": True}, True, True),
        # Simulated run s8104-116: a queue looks like jitter, and no path adds less than it moves.
        ({"link_us": 4326.0, "jitter_us": 2587.0}, True, True),
        ({"link_us": 5288.0, "jitter_us": 15_991.0, "mdev_us": 19_062.0}, True, True),
        ({"link_us": 2130.0, "jitter_us": 5873.0, "mdev_us": 3955.0}, True, False),
    ],
)
def test_the_cause_is_named_that_is_as_large_as_the_deviation(
    columns: dict[str, object], explained: bool, by_packet: bool
) -> None:
    row = CALM | {"mdev_us": 1100.0} | columns
    assert path_causes.whatever_the_aqm(row) is explained
    assert path_causes.by_packet(row, "mdev_us") is by_packet


def test_the_time_of_a_packet_is_that_of_the_slowest_phase() -> None:
    assert (
        path_causes.packet_us(CALM | {"serialisation_us": 2856.0, "link_us": 12_432.0}) == 12_432.0
    )
    assert path_causes.packet_us(CALM | {"serialisation_us": 2856.0}) == 2856.0
    assert path_causes.packet_us(CALM) == 0.0
