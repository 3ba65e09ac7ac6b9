"""Packets that the capture contains twice."""

from l4strace.rules.l4s010_packets_seen_twice import check
from tests.support.frames import evidence, frame


def test_fires_once_an_input():
    directions = frame("directions", forward=[True, False], duplicates=[900, 400])
    (found,) = check(evidence(sources=frame("sources"), directions=directions))
    assert found.measures[0].value == 1300
    assert found.message.startswith("run.pcap contains packets twice: 1,300 copies")


def test_silent_on_single_copies():
    for duplicates, packets in ((3, 20), (50, 100_000)):
        directions = frame("directions", duplicates=duplicates, packets=packets)
        assert check(evidence(sources=frame("sources"), directions=directions)) == []


def test_silent_where_retransmissions_outnumber_the_copies():
    """Lab run s801-010: 787 packets dropped, and some retransmitted within half a round trip."""
    directions = frame("directions", duplicates=186, packets=11_402, retransmits=744)
    assert check(evidence(sources=frame("sources"), directions=directions)) == []


def test_fires_where_nearly_every_packet_may_be_a_copy():
    """No timestamps, no ids, a long queue between the interfaces: 800 of 800, and nothing said."""
    directions = frame("directions", duplicates=0, packets=1600, retransmits=800)
    (found,) = check(evidence(sources=frame("sources"), directions=directions))
    assert "800 of 1,600 packets" in found.message
    assert "a queue, or clocks that differ" in found.message


def test_silent_where_a_few_packets_repeat_without_end():
    """A storm of SACK: 1,121 of 1,125, four flows of one capture, were "there twice"."""
    directions = frame("directions", duplicates=0, packets=1125, retransmits=1121)
    assert check(evidence(sources=frame("sources"), directions=directions)) == []
