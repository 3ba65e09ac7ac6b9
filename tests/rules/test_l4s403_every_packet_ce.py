"""A hop that marks everything."""

import polars as pl

from l4strace.model import Confidence, Severity
from l4strace.rules.l4s403_every_packet_ce import check
from tests.support.frames import MS, evidence, frame, rounds
from tests.support.scenes import FLOWS, bottleneck


def test_fires_at_the_receiver_and_on_feedback() -> None:
    seen = frame("directions", data_ce=1000, first_ce_frame=3)
    (found,) = check(evidence(directions=seen))
    assert found.frames == (3,)
    (fed,) = check(evidence(directions=frame("directions", ce_fed_back_best=990)))
    assert [m.value for m in fed.measures] == [0.99]


def test_fires_with_full_confidence_only_where_the_queue_can_be_seen() -> None:
    """At the receiver the RTT holds no queue: a delay of 0 there does not accuse a hop."""
    fed_back = frame("directions", ce_fed_back_best=1000)
    tables = {"directions": fed_back, "rounds": rounds(50)}
    (near,) = check(evidence(flows=frame("flows", vantage="client"), **tables))
    (far,) = check(evidence(flows=frame("flows", vantage="server"), **tables))
    assert (near.confidence, far.confidence) == (Confidence.HIGH, Confidence.MEDIUM)
    assert "cannot show" in far.message


def test_fires_as_notice_when_a_queue_explains_it() -> None:
    seen = frame("directions", data_ce=1000)
    (found,) = check(evidence(directions=seen, rounds=rounds(50, queue_delay_us=15_000.0)))
    assert found.severity is Severity.NOTICE
    assert "15.0 ms" in found.message


def test_fires_with_the_queue_of_most_of_the_time() -> None:
    """60 rounds of 10 ms without a queue, and 40 of 100 ms behind one."""
    ends = [10 * (n + 1) for n in range(60)] + [600 + 100 * (n + 1) for n in range(40)]
    made = rounds(
        100,
        start_ns=[0, *(MS * end for end in ends[:-1])],
        end_ns=[MS * end for end in ends],
        queue_delay_us=[100.0] * 60 + [15_000.0] * 40,
    )
    (found,) = check(evidence(directions=frame("directions", data_ce=1000), rounds=made))
    assert "15.0 ms" in found.message


def test_silent_on_an_eager_aqm_and_on_few_packets() -> None:
    assert check(evidence(directions=frame("directions", data_ce=600))) == []
    assert check(evidence(directions=frame("directions", data_packets=10, data_ce=10))) == []


def test_silent_where_super_packets_stand_for_more_segments_than_marks() -> None:
    """100 super-packets of 44 segments, 2,000 marks fed back: 45 %, not 2,000 of 100."""
    sizes = {"data_packets": 100, "data_segments": 4_400, "data_ect1": 100}
    merged = frame("directions", ce_fed_back_best=2_000, **sizes)
    assert check(evidence(directions=merged)) == []
    nearly_all = frame("directions", ce_fed_back_best=4_390, **sizes)
    (found,) = check(evidence(directions=nearly_all))
    assert "4,390 of 4,400 data packets" in found.message


def test_fires_and_names_the_slow_link_that_no_sender_can_avoid() -> None:
    """Lab run s1401-149: 3 Mbit/s behind a step of 0.5 ms, and a sender that cut 536 times."""
    place = bottleneck("l4s", serialisation_us=4_200.0)
    fed_back = frame("directions", ce_fed_back_best=1000)
    tables = {"directions": fed_back, "bottlenecks": place}
    (found,) = check(evidence(flows=FLOWS, rounds=rounds(50, queue_delay_us=3_600.0), **tables))
    assert "one packet takes 4.2 ms on this link" in found.message
    assert "responds" not in found.message
    assert found.action.startswith("Raise the step")


def test_fires_and_blames_no_hop_for_packets_that_leave_their_sender_as_ce() -> None:
    left = frame("directions", data_ce=1000)
    (found,) = check(evidence(flows=frame("flows", vantage="client"), directions=left))
    assert "no hop behind this capture has marked them" in found.message
    assert "hop" not in found.action
    fed_back = frame("directions", data_ce=0, ce_fed_back_best=1000)
    (found,) = check(evidence(flows=frame("flows", vantage="client"), directions=fed_back))
    assert "no hop" not in found.message


def test_fires_at_both_ends_and_believes_the_capture_at_the_sender() -> None:
    flows = frame("flows", source=[0, 1], vantage=["server", "client"])
    seen = frame("directions", source=[0, 1], data_ce=[1000, 990])
    (found,) = check(evidence(flows=flows, directions=seen))
    assert "no hop behind this capture has marked them" in found.message


def test_fires_on_a_hop_that_marks_all_beside_the_queue_of_another_flow() -> None:
    """The flow is marked from its first packet on; another one fills the queue from 0.2 s on."""
    queue = [100.0] * 20 + [15_000.0] * 80
    fed_back = frame("directions", data_packets=4000, ce_fed_back_best=4000)
    seen = rounds(100, queue_delay_us=queue, ce_best=40)
    (found,) = check(evidence(directions=fed_back, rounds=seen))
    assert (found.severity, found.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert "as 800 of 800 that met less than 0.5 ms of queue were CE too" in found.message
    aqm = rounds(100, queue_delay_us=queue, ce_best=[0] * 20 + [40] * 80)
    (found,) = check(evidence(directions=fed_back, rounds=aqm))
    assert found.severity is Severity.NOTICE


def answered(packets: list[int], cwr: int, ece: int) -> pl.DataFrame:
    """Data with CWR, and ACKs with ECE."""
    flags = {"cwr_packets": [cwr, 0], "ece_acks": [0, ece]}
    return frame("directions", forward=[True, False], packets=packets, **flags)


def test_fires_under_classic_ecn_where_every_ack_carries_ece() -> None:
    flows = frame("flows", mode="classic", vantage="client")
    both = answered(packets=[587, 293], cwr=281, ece=292)
    echo = {"ece_acks": 1, "rtt_samples": 1}
    flight = rounds(50, inflight_max_packets=2, queue_delay_us=300.0, **echo)
    (found,) = check(evidence(flows=flows, directions=both, rounds=flight))
    assert (found.forward, found.confidence) == (True, Confidence.HIGH)
    assert found.message.startswith(
        "292 of 293 packets from the receiver carry ECE although the sender answers with CWR and "
        "has 2 packets in flight: a hop marks every packet"
    )
    silent = answered(packets=[587, 293], cwr=0, ece=292)
    assert check(evidence(flows=flows, directions=silent, rounds=flight)) == []
    some = answered(packets=[587, 293], cwr=281, ece=200)
    assert check(evidence(flows=flows, directions=some, rounds=flight)) == []


def test_silent_where_cwr_ends_the_echo_of_a_few_marks() -> None:
    """Simulated run s4417-037: 20 % of 177 packets in flight made 96 % of the ACKs carry ECE."""
    flows = frame("flows", mode="classic", vantage="client")
    both = answered(packets=[9_000, 4_500], cwr=50, ece=4_400)
    # The packet with CWR is the only one of a round trip that may end the echo.
    flight = rounds(50, queue_delay_us=18e3, rtt_samples=90, ece_acks=[90, *[88] * 40, *[90] * 9])
    assert check(evidence(flows=flows, directions=both, rounds=flight)) == []
    marked = flight.with_columns(ece_acks=pl.lit(90, pl.UInt32))
    (found,) = check(evidence(flows=flows, directions=both, rounds=marked))
    assert "4,400 of 4,500 packets from the receiver carry ECE" in found.message
