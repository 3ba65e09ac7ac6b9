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
    apart = frame("sources", interfaces_apart_lo_ns=15_000_000)
    (found,) = check(evidence(sources=apart, directions=directions))
    assert "by clocks that differ (L4S014)" in found.message


def test_fires_without_vouching_for_copies_by_two_clocks():
    """392 copies of 814 packets, where 603 were sent: "each packet counts once"."""
    directions = frame("directions", duplicates=392, packets=814, retransmits=211)
    for apart, vouched in ((None, True), (25_000_000, False)):
        sources = frame("sources", interfaces_apart_lo_ns=apart)
        (found,) = check(evidence(sources=sources, directions=directions))
        assert ("Each packet counts once." in found.message) is vouched
        assert ("Others may count as retransmissions" in found.message) is not vouched


def test_fires_where_two_clocks_hide_fewer_copies():
    """Clocks 0.5 s apart: 637 of 1,440 packets, of which 172 were recognized, and nothing said."""
    directions = frame("directions", duplicates=172, packets=1440, retransmits=637)
    for apart, count in ((None, 0), (500_000_000, 1)):
        found = check(
            evidence(sources=frame("sources", interfaces_apart_lo_ns=apart), directions=directions)
        )
        assert [one.message.startswith("Data packets are there twice") for one in found] == (
            [True] * count
        )


def test_silent_where_a_few_packets_repeat_without_end():
    """A storm of SACK: 1,121 of 1,125, four flows of one capture, were "there twice"."""
    directions = frame("directions", duplicates=0, packets=1125, retransmits=1121)
    assert check(evidence(sources=frame("sources"), directions=directions)) == []
