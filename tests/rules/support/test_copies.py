"""Directions whose retransmissions may be copies."""

import pytest

from l4strace.rules.support import copies
from tests.support.frames import evidence, frame


@pytest.mark.parametrize(
    ("again", "packets", "known"),
    [
        (800, 1600, True),
        (700, 1600, False),
        (1300, 1600, False),
        (49, 98, False),
        (None, 1600, False),
    ],
    ids=["nearly all", "heavy loss", "a storm", "few", "none"],
)
def test_what_may_be_copies(again, packets: int, known: bool):
    seen = evidence(directions=frame("directions", retransmits=again, packets=packets))
    assert (copies.repeated(seen).height == 1) is known
