"""A second capture never makes an answer worse."""

import pytest

from tests.support.pairs import contradictions
from tests.support.places import FIXTURES

PAIRS = {
    **{path.parent.name: path for path in sorted(FIXTURES.glob("*/sender.pcap.xz"))},
    **{path.name[:-12]: path for path in sorted(FIXTURES.glob("reports/*-snd.pcap.xz"))},
}


@pytest.mark.parametrize("name", PAIRS)
def test_sender_receiver_and_both_go_together(name: str) -> None:
    sender = PAIRS[name]
    other = sender.name.replace("sender", "receiver").replace("-snd", "-rcv")
    assert contradictions(sender, sender.with_name(other)) == []
