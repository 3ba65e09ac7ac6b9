"""What rules share: one capture a direction."""

import pytest

from l4strace.derive import vantage
from l4strace.rules.support import subjects
from tests.support.frames import MS, evidence, frame, rounds, stack


def test_of_two_captures_the_one_near_the_sender_is_judged() -> None:
    flows = frame("flows", source=[0, 1], vantage=["server", "client"])
    directions = frame("directions", source=[0, 1, 0, 1], forward=[True, True, False, False])
    nearest = vantage.nearest(evidence(flows=flows, directions=directions))
    assert sorted(nearest.rows()) == [(0, 0, False, 1), (1, 0, True, 0)]


@pytest.mark.parametrize(("ns", "frames"), [(15 * MS, (101, 200)), (10**9, None), (None, None)])
def test_a_moment_is_of_the_round_near_the_sender(ns: int | None, frames: object) -> None:
    far = rounds(5, source=1, first_frame=7, last_frame=7)
    both = evidence(
        flows=frame("flows", source=[0, 1], vantage=["client", "server"]),
        directions=frame("directions", source=[0, 1]),
        rounds=stack(far, rounds(5)),
    )
    place = {"source": 0, "frames": frames} if frames else {}
    assert subjects.at(both, 0, True, ns) == place
    assert subjects.at(both, 1, True, ns) == {}
