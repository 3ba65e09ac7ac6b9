"""ECT(1) that ends for good."""

import pytest

from l4strace.model import Confidence
from l4strace.rules.l4s210_l4s_given_up import RULE
from tests.support.ends import findings, path, recorded, sent


def test_fires_on_a_recorded_sender_that_gave_up_after_one_packet():
    (found,) = findings(RULE, recorded("upbleach"))
    assert found.message.startswith("The sender gave L4S up 12.9 ms after its first packet")
    assert found.message.endswith("The path clears ECT (L4S104).")
    assert (found.forward, found.frames) == (
        True,
        (2, 3),
    )  # the report, and the first packet after it


def test_fires_on_the_sender_alone_with_what_its_receiver_reported():
    (found,) = findings(RULE, recorded("upbleach", "a"))
    assert "Its receiver reported a packet that came with neither ECT(1) nor CE" in found.message
    assert (found.confidence, found.frames) == (Confidence.MEDIUM, (2, 3))


def test_fires_at_the_receiver_without_saying_how_the_packets_left():
    (found,) = findings(RULE, recorded("upbleach", "b"))
    assert "pass this capture as Not-ECT, from the first on, and their receiver" in found.message
    assert found.message.endswith("an earlier node clears ECT(1), or the sender never set it.")
    assert found.headline == "L4S was given up: no packet is ECT(1)"
    assert (found.confidence, found.frames) == (Confidence.MEDIUM, (2,))


def test_silent_on_the_twin_that_keeps_it():
    assert findings(RULE, recorded("up1", "b")) == []
    assert findings(RULE, recorded("up1")) == []
    assert findings(RULE, recorded("pqbleach")) == []


@pytest.mark.parametrize(
    ("runs", "transport", "found"),
    [
        ([1, 5000, 0, 300], "quic", 1),
        ([1, 10, 0, 300], "quic", 0),  # probes of a validation: L4S115
        ([1, 10, 0, 300], "rtp", 1),
        ([2, 5000, 0, 300], "udp-prague", 0),
        ([1, 5000, 0, 100], "udp-prague", 0),
        ([1, 5000, 0, 300], "udp", 0),  # a tunnel shows the ECN field of one flow, then of another
    ],
)
def test_silent_on_probes_on_ect0_and_where_it_may_come_again(
    runs: list[int], transport: str, found: int
):
    assert len(findings(RULE, sent(runs, transport))) == found


def test_fires_without_accusing_a_path_that_is_intact():
    (found,) = findings(RULE, sent([1, 90, 0, 300], "rtp", paths=path(ect1_to_ect1=90)))
    assert "ECT arrived as it left" in found.message
