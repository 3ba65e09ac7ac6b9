"""Where a capture stood, named once."""

import pytest

from l4strace.output import flow_lines
from l4strace.wording import vantages
from tests.support.frames import capture, frame, stack


def at(*places: str):
    numbers = list(range(len(places)))
    return capture(
        flows=frame("flows", source=numbers, vantage=list(places)),
        directions=frame("directions", source=numbers),
    )


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("client", "at the sender"),
        ("middle", "between sender and receiver (an RTT from here leaves out the part before the "
         "capture)"),
        ("server", "at the receiver (marks, arrivals, gaps and rates are exact; RTT and queue "
         "delay are not seen here)"),
    ],
)  # fmt: skip
def test_one_capture_names_its_place_and_what_it_does_not_show(place: str, words: str):
    assert vantages.of_sources(at(place)) == {0: words}


def test_an_unknown_place_is_not_named():
    assert vantages.of_sources(at("unknown")) == {}


def test_a_capture_without_data_stood_at_neither_end_of_it():
    """It named one or the other, by chance."""
    both = frame("directions", forward=[True, False], payload_bytes=0)
    for _ in range(20):
        assert vantages.of_sources(capture(flows=frame("flows"), directions=both)) == {}


def test_beside_a_capture_at_the_sender_nothing_is_missing():
    assert vantages.of_sources(at("client", "server")) == {0: "at the sender", 1: "at the receiver"}


def test_no_rtt_at_the_receiver():
    """Data to ACK is 5 us there: the host's own delay."""
    (near,) = flow_lines.rows(at("client"))
    (far,) = flow_lines.rows(at("server"))
    assert (near[-1], far[-1]) == ("10 ms", "-")


def test_retransmissions_are_a_lower_bound_far_from_the_sender() -> None:
    """At a receiver 720 of 1,983 were counted: the others were lost, or came once."""
    for place, shown in (("client", "7"), ("unknown", "7"), ("middle", "7+"), ("server", "7+")):
        flows, data = frame("flows", vantage=place), frame("directions", retransmits=7)
        (line,) = flow_lines.rows(capture(flows=flows, directions=data))
        assert line[flow_lines.HEADS.index("retx")] == shown
    flows, data = frame("flows", vantage="middle"), frame("directions", retransmits=0)
    (line,) = flow_lines.rows(capture(flows=flows, directions=data))
    assert line[flow_lines.HEADS.index("retx")] == "0"


def test_ece_says_that_there_were_marks_not_how_many():
    """Classic ECN beside a sender: 0 % stood there while 384 of 3,010 packets arrived marked."""
    flows = frame("flows", mode="classic", vantage="client")
    data = frame("directions", ce_fed_back_best=None, ece_acks=0, data_packets=100, ect0=100)
    for echoes, shown in ((7, "ECE"), (0, "-")):
        acks = frame(
            "directions", forward=False, payload_bytes=0, ece_acks=echoes, ce_fed_back_best=None
        )
        (line,) = flow_lines.rows(capture(flows=flows, directions=stack(data, acks)))
        assert line[flow_lines.HEADS.index("CE")] == shown
