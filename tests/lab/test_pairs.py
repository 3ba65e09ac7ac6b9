"""A second capture never makes an answer worse: runs of real Prague."""

from pathlib import Path

import pytest

from tests.support.pairs import contradictions

STUDY = "prague-2020/batch-l4s-{}.tcpdump_{}.pcap.xz"
SLOW, STEP = (
    "s1-oneflow-ns-prague-dualpi2-5Mbit-160ms",
    "s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-20ms",
)


@pytest.mark.parametrize("run", ["a", "b", "d", "e", "f2", "h", "i", "k", "o", "q1", "s"])
def test_sender_receiver_and_both_go_together(shared_data: Path, run: str) -> None:
    folder = shared_data / "lab" / run
    assert contradictions(folder / "sender.pcap.xz", folder / "receiver.pcap.xz") == []


@pytest.mark.parametrize("name", [SLOW, STEP])
def test_so_do_those_of_captures_of_2020(shared_data: Path, name: str) -> None:
    """An initial window at 5 Mbit/s "overshot" at both ends alone, with 10 packets of 66."""
    sides = (shared_data / STUDY.format(name, side) for side in ("cli_cli", "srv_srv"))
    assert contradictions(*sides) == []
