"""Marks of packets on the wire."""

import pytest

from l4strace.derive import marked
from tests.support.frames import frame


@pytest.mark.parametrize(
    ("columns", "packets", "share"),
    [
        ({"ce_fed_back_best": 1_078, "data_packets": 1_169, "data_segments": 9_337}, 1_078, 0.115),
        ({"ce_fed_back_best": 5, "data_ce": 7}, 7, 0.007),
        ({"ce_fed_back_best": 1_002, "data_ce": 0}, 1_000, 1.0),
        ({"data_packets": 0}, 0, None),
    ],
    ids=["super-packets", "captured behind the queue", "the handshake too", "no data"],
)
def test_marks_and_their_share_are_of_packets_on_the_wire(
    columns: dict[str, int], packets: int, share: float | None
) -> None:
    rows = frame("directions", **columns).select(n=marked.packets(), share=marked.share())
    assert rows["n"][0] == packets
    assert rows["share"][0] == (None if share is None else pytest.approx(share, abs=0.001))
