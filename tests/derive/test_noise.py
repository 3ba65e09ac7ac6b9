"""Jitter, bursts and reordering on hand-made rounds, and on lab captures with jitter added."""

import random

import polars as pl
import pytest

from l4strace.derive import noise
from tests.support.frames import capture, frame, rounds, stack

FLOWS = frame("flows", flow=[0, 1], client_port=[40001, 40002])
DIRECTIONS = frame("directions", flow=[0, 1], data_ect1=1000)
COUNT = 200


def of(spread: float, flow: int = 0, queue: float = 500.0, **columns: object) -> pl.DataFrame:
    """Rounds at 50 Mbit/s whose RTTs lie `spread` us apart above a queue that swings."""
    swing = [10_000.0 + queue * (i % 20) / 20 for i in range(COUNT)]
    plain = {
        "rtt_min_us": swing,
        "rtt_mean_us": [low + spread / 2 for low in swing],
        "rtt_max_us": [low + spread for low in swing],
        "rtt_jitter_us": spread / 3,
        "train_bps": 50e6,
        "end_ns": [(i + 1) * 10_000_000 for i in range(COUNT)],
    }
    return rounds(COUNT, flow=flow, **(plain | columns))


def row(*tables: pl.DataFrame, **others: pl.DataFrame) -> dict[str, object]:
    known = {"flows": FLOWS, "directions": DIRECTIONS, "rounds": stack(*tables)}
    return noise.table(capture(**(known | others))).filter(flow=0).row(0, named=True)


@pytest.mark.parametrize("spread", [3_000.0, 6_000.0, 12_000.0])
def test_jitter_is_the_spread_of_quiet_rounds_without_two_packets(spread: float) -> None:
    found = row(of(spread))
    assert found["jitter_us"] == pytest.approx(spread, abs=700)
    assert found["hides_us"] == noise.HIDES * found["jitter_us"]
    assert (found["release_us"], found["added_by"], found["basis"]) == (None, None, "rtt")


def test_a_queue_that_moves_in_some_rounds_is_not_jitter() -> None:
    """CUBIC beside Prague: the queue falls by milliseconds within one round of four."""
    moved = [5_000.0 if i % 4 == 0 else 600.0 for i in range(COUNT)]
    low = [10_000.0] * COUNT
    table = of(600.0, rtt_min_us=low, rtt_max_us=[a + m for a, m in zip(low, moved, strict=True)])
    assert row(table)["jitter_us"] < 500


def test_a_flow_with_few_packets_takes_the_jitter_of_its_neighbour() -> None:
    few = of(300.0, rtt_samples=2, rtt_jitter_us=400.0)
    found = row(few, of(6_000.0, flow=1))
    assert found["jitter_us"] == pytest.approx(6_000, abs=700)
    assert found["common_us"] < 700


def test_a_queue_that_grows_through_every_round_is_not_jitter() -> None:
    """Lab run s1001-076, a FIFO: the RTT moves one way, in steps of a tenth of the spread."""
    grows, shakes = of(4_000.0, rtt_jitter_us=400.0), of(4_000.0, rtt_jitter_us=1_300.0)
    assert row(grows)["common_us"] < 1_000
    assert row(shakes)["common_us"] > 3_000


def test_what_a_single_flow_shows_is_not_common_to_the_path() -> None:
    found = row(of(4_000.0), of(500.0, flow=1))
    assert found["jitter_us"] > 3_000 > 500 > found["common_us"]


def test_packets_that_arrive_together_were_released_together() -> None:
    found = row(of(8_000.0, train_bps=5e9))
    assert found["release_us"] == 8_000.0
    assert row(of(8_000.0, train_bps=90e6))["release_us"] is None
    high = [10_000.0, *[15_000.0] * (COUNT - 1)]
    late = of(8_000.0, rtt_min_us=high, rtt_max_us=[rtt + 8_000.0 for rtt in high], train_bps=5e9)
    assert row(late)["release_us"] is None


def test_acks_that_cover_many_packets_show_the_period_of_a_link() -> None:
    """Lab run s1401-028: 6 ms from one ACK of 17 packets to the next; each ACK is one sample."""
    slots = {"rtt_samples": 4, "acked_packets": 68, "train_bps": 50e6}
    longer = {"end_ns": [i * 10_000_000 + 24_000_000 for i in range(COUNT)]}
    assert row(of(4_000.0, **slots, **longer))["release_us"] == 6_000.0
    for changed in (
        {"acked_packets": 8},  # each second packet, as receivers do
        {"end_ns": [i * 10_000_000 + 4_000_000 for i in range(COUNT)]},  # receive offload
        {"rtt_samples": 1},  # one flight a round
        {"retransmits": 1},
    ):
        assert row(of(4_000.0, **(slots | longer | changed)))["release_us"] is None
    jitter = of(14_000.0, **slots, **longer)
    assert row(jitter)["release_us"] is None, "packets gather behind the slowest"
    whole = frame("directions", flow=[0, 1], data_ect1=1000, super_packets=400)
    assert row(of(4_000.0, **slots, **longer), directions=whole)["release_us"] is None
    late = frame("directions", flow=[0, 1], data_packets=1_000, out_of_order=[40, 0])
    assert row(of(4_000.0, **slots, **longer), directions=late)["release_us"] is None


@pytest.mark.parametrize(
    ("one_way", "by"), [(5_800.0, "forward"), (300.0, "ack"), (4_400.0, "both")]
)
def test_the_one_way_delay_shows_which_path_adds_it(one_way: float, by: str) -> None:
    found = row(of(6_000.0, owd_min_us=0.0, owd_max_us=one_way))
    assert (found["added_by"], found["basis"]) == (by, "one-way delay")
    assert found["hides_owd_us"] == pytest.approx(noise.HIDES * max(0.0, one_way - 500), abs=200)


def test_late_packets_come_from_the_capture_behind_the_reordering() -> None:
    """The receiver's capture calls some late packets retransmitted; ACKs know better."""
    ends = frame("flows", source=[0, 1], flow=0, vantage=["client", "server"])
    both = frame("directions", source=[0, 1], flow=0, out_of_order=[0, 100], overtaken=130)
    found = row(of(500.0), flows=ends, directions=both)
    assert (found["late_packets"], found["late_share"]) == (130, 0.13)


def test_the_receivers_acks_show_no_late_packets_where_all_arrived_in_order() -> None:
    """Simulated run s6173-068: 77 "late" packets behind more holes than SACK has room for."""
    ends = frame("flows", source=[0, 1], flow=0, vantage=["client", "server"])
    both = frame("directions", source=[0, 1], flow=0, out_of_order=0, overtaken=[0, 77])
    assert row(of(500.0), flows=ends, directions=both)["late_packets"] == 0


def test_parts_of_super_packets_are_late_of_what_was_on_the_wire() -> None:
    """Lab run s2601-099: "17,166 data packets (164 %) arrived behind later ones"."""
    merged = {"data_packets": 10_000, "data_segments": 50_000, "super_packets": 9_000}
    sent = frame("directions", overtaken=17_000, retransmits=25, **merged)
    assert row(of(500.0), directions=sent)["late_share"] == pytest.approx(0.34)


def test_repaired_parts_of_super_packets_are_not_late() -> None:
    for repaired, late in ((77, 0), (4, 35)):
        sent = frame("directions", overtaken=35, super_packets=900, retransmits=repaired)
        assert row(of(500.0), directions=sent)["late_packets"] == late


def test_slow_links_hide_jitter_in_the_time_of_a_packet() -> None:
    slow = of(4_000.0, acked_bytes=4_000, acked_packets=3)
    assert row(slow)["jitter_us"] == 0.0


def test_nothing_without_rounds() -> None:
    assert noise.table(capture(flows=FLOWS, directions=DIRECTIONS)).is_empty()


def test_estimate_against_truth() -> None:
    """Uniform jitter of known range, 12 packets a round: between half of it and all of it."""
    rng = random.Random(1)
    for range_us in (2_000.0, 5_000.0, 20_000.0):
        draws = [[rng.uniform(0, range_us) for _ in range(12)] for _ in range(COUNT)]
        table = of(
            0.0,
            rtt_min_us=[10_000 + min(d) for d in draws],
            rtt_max_us=[10_000 + max(d) for d in draws],
            rtt_samples=12,
        )
        estimate = row(table)["jitter_us"]
        assert 0.5 * range_us <= estimate <= range_us
