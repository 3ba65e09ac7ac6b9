"""Directions whose retransmissions may be copies."""

import pytest

from l4strace.rules.support import copies
from tests.support.frames import MS, evidence, frame


@pytest.mark.parametrize(
    ("again", "packets", "twice", "apart_ns", "known"),
    [
        (800, 1600, 0, None, True),
        (700, 1600, 0, None, False),
        (1300, 1600, 0, None, False),
        (49, 98, 0, None, False),
        (637, 1440, 172, None, False),
        (637, 1440, 172, 500 * MS, True),
        (138, 941, 677, 500 * MS, False),
        (None, 1600, None, 500 * MS, False),
    ],
    ids=["nearly all", "heavy loss", "a storm", "few", "loss", "clocks", "recognized", "none"],
)
def test_what_may_be_copies(again, packets: int, twice, apart_ns, known: bool):
    seen = evidence(
        sources=frame("sources", interfaces_apart_lo_ns=apart_ns),
        directions=frame("directions", retransmits=again, packets=packets, duplicates=twice),
    )
    assert (copies.repeated(seen).height == 1) is known
