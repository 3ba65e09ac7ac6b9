"""Trains that are marked as a whole, and queues that mark packet by packet."""

from typing import Any

import pytest

from l4strace.evidence import Evidence
from l4strace.rules.l4s215_trains_share_codepoint import RULE, trains
from tests.support.ends import findings
from tests.support.frames import evidence, frame

CLASSES = 23


def classes(**by_bits: int) -> list[int]:
    """Counts of the classes of gaps that are named: `b4` is 8 to 16 us."""
    return [by_bits.get(f"b{at}", 0) for at in range(CLASSES)]


TRAINS = {
    # Trains of eight at 12 us, a train every millisecond.
    "pairs_by_gap": [classes(b4=70_000, b10=10_000)],
    "turns_by_gap": [classes(b10=1_000)],
    "super_packets": 0,
}


def run(transport: str = "quic", **columns: Any) -> Evidence:
    row = frame("directions", first_ce_ns=5, first_ce_frame=7, **(TRAINS | columns))
    return evidence(udp_flows=frame("flows", transport=transport), udp_directions=row)


def test_fires_where_marks_change_between_trains_alone():
    (found,) = findings(RULE, run())
    assert found.message == (
        "Whole trains are CE or none of their packets: of 70,000 pairs of packets closer than "
        "512 us, 0 have one packet alone CE (threshold 1; 99 expected of packets marked one by "
        "one), of those farther apart 1,000. A node marks a train as one packet: segmentation "
        "offload, or a link that marks what it releases at once."
    )
    assert found.frames == (7,)


def test_a_capture_of_whole_trains_shows_who_makes_them():
    (found,) = findings(RULE, run(super_packets=40))
    assert found.message.endswith("segmentation offload, as a capture shows trains as one packet.")


@pytest.mark.parametrize("turned", [1, 2])
def test_trains_that_touch_are_few(turned: int):
    """Of 99 expected, a fiftieth is 1.97."""
    turns = [classes(b4=turned, b10=1_000 - turned)]
    assert len(findings(RULE, run(turns_by_gap=turns))) == (turned == 1)


@pytest.mark.parametrize(
    "columns",
    [
        {"turns_by_gap": [classes(b4=60, b10=940)]},  # packet by packet
        {"turns_by_gap": [classes(b10=200)]},  # too few marks for so short trains
        {"turns_by_gap": [classes(b10=0)]},
        {"pairs_by_gap": None, "turns_by_gap": None},
        {"pairs_by_gap": [classes(b4=200, b10=80_000)]},  # too few trains
        {"transport": "udp"},  # a tunnel, whose trains are another's
    ],
)
def test_silent_on_marks_that_may_come_one_by_one(columns: dict[str, Any]):
    assert findings(RULE, run(**columns)) == []


def test_silent_on_a_queue_that_marks_all_while_it_is_over_its_threshold():
    """It turns at any time: trains that last 1 % of the time would hide 1 % of its turns."""
    pairs, turns = classes(b4=7_000, b13=1_000), classes(b13=400)
    assert trains(pairs, turns) is None
    assert trains([100 * n for n in pairs], [100 * n for n in turns]) is not None
