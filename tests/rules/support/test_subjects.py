"""What rules share: one capture a direction."""

from l4strace.derive import vantage
from tests.support.frames import evidence, frame


def test_of_two_captures_the_one_near_the_sender_is_judged() -> None:
    flows = frame("flows", source=[0, 1], vantage=["server", "client"])
    directions = frame("directions", source=[0, 1, 0, 1], forward=[True, True, False, False])
    nearest = vantage.nearest(evidence(flows=flows, directions=directions))
    assert sorted(nearest.rows()) == [(0, 0, False, 1), (1, 0, True, 0)]
