"""Directions whose retransmissions may be copies."""

import pytest

from l4strace.rules.support import copies
from tests.support.frames import evidence, frame, rounds


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


@pytest.mark.parametrize(("sacked", "known"), [(0, True), (9, True), (11, False)])
def test_what_sack_reports_as_lost_is_no_copy(sacked: int, known: bool) -> None:
    """Simulated run s38411-067: BBR through a loss of half of its packets."""
    times = [4000.0] * sacked + [None] * (40 - sacked)
    made = rounds(40, retransmits=20, sacked_rtt_max_us=times)
    twice = frame("directions", retransmits=800, packets=1600)
    assert (copies.repeated(evidence(directions=twice, rounds=made)).height == 1) is known
