"""Latency spikes: events of a path, and their causes."""

from dataclasses import replace

import polars as pl
import pytest

from l4strace.derive import spikes
from tests.support.frames import MS, capture, frame, rounds, stack
from tests.support.queues import dropped

FLOWS = frame("flows", flow=[0, 1], first_ns=[0, 990 * MS])
DIRECTIONS = frame("directions", flow=[0, 1], data_ect1=1000)


def waits(delays: list[float]) -> dict[str, object]:
    """RTT columns of rounds whose packets all wait ``delays`` above 10 ms."""
    rtts = [10_000.0 + d for d in delays]
    return {"rtt_min_us": [10_000.0, *rtts[1:]], "rtt_mean_us": rtts, "rtt_max_us": rtts}


HIGH = [400.0] * 100 + [200_000.0] * 30 + [400.0] * 70
"""Two seconds at 0.4 ms with 200 ms of queue from 1.0 s to 1.3 s."""
EARLY = [400.0] * 5 + [200_000.0] * 30 + [400.0] * 165
"""The same queue from 0.05 s on, soon after the flow began."""
DOUBLES = {"slow_start": [True] * 10 + [False] * 190}
"""Slow start of those rounds."""


def table(*made: pl.DataFrame) -> pl.DataFrame:
    return spikes.table(capture(flows=FLOWS, directions=DIRECTIONS, rounds=stack(*made)))


def spiked(**columns: object) -> pl.DataFrame:
    return table(rounds(200, **(waits(HIGH) | columns)))


def test_spike_has_start_height_and_length() -> None:
    row = spiked().row(0, named=True)
    assert (row["start_ns"], row["end_ns"], row["rounds"]) == (1_000 * MS, 1_300 * MS, 30)
    assert row["height_us"] == pytest.approx(200_000)
    assert row["usual_us"] == pytest.approx(400)
    assert row["cause"] == "unknown"
    assert (row["one_way"], row["culprit"]) == (False, None)


def test_the_usual_delay_is_that_of_most_of_the_time() -> None:
    """Two seconds of 200 short rounds at 5 ms, then 6.4 s of 64 long ones at 68 ms: no spike."""

    def found(long: int) -> pl.DataFrame:
        ends = [10 * MS * (n + 1) for n in range(200)]
        ends += [2_000 * MS + 100 * MS * (n + 1) for n in range(long)]
        delays = waits([5_000.0] * 200 + [68_000.0] * long)
        return table(rounds(200 + long, start_ns=[0, *ends[:-1]], end_ns=ends, **delays))

    assert found(64).is_empty()
    assert found(19)["usual_us"].to_list() == [5_000.0], "1.9 s of 3.9 s"


def test_what_most_rounds_stay_at_is_usual_where_most_of_the_time_stays_within_its_limit() -> None:
    """200 short rounds at 5 ms, 30 long ones at 10 ms, then 0.2 s at 25 ms: 20 ms are the limit."""
    ends = [10 * MS * (n + 1) for n in range(200)]
    ends += [2_000 * MS + 100 * MS * (n + 1) for n in range(32)]
    delays = waits([5_000.0] * 200 + [10_000.0] * 30 + [25_000.0] * 2)
    found = table(rounds(232, start_ns=[0, *ends[:-1]], end_ns=ends, **delays))
    assert found.select("usual_us", "height_us").rows() == [(5_000.0, 25_000.0)]


@pytest.mark.parametrize(
    ("columns", "cause"),
    [
        ({"acked_bytes": [58_000] * 100 + [5_000] * 100}, "rate-drop"),
        ({"retransmits": [0] * 110 + [9] * 10 + [0] * 80}, "unknown"),
        ({"burst_bytes": [1448] * 105 + [65_000] * 5 + [1448] * 90}, "burst"),
        ({"slow_start": [True] * 110 + [False] * 90}, "unknown"),
    ],
    ids=["slower", "loss is no cause", "burst", "the flag alone, a second after the start"],
)
def test_cause(columns: dict[str, list[object]], cause: str) -> None:
    assert spiked(**columns)["cause"].to_list() == [cause]


def test_a_few_packets_in_flight_overshoot_nothing() -> None:
    """ "Slow start overshot: up to 2 packets were in flight (1 fills the path)"."""
    for packets, cause in ((2, "unknown"), (10, "unknown"), (11, "slow-start")):
        made = rounds(200, **waits(EARLY), **DOUBLES, inflight_max_packets=packets)
        row = table(made).row(0, named=True)
        assert (row["cause"], row["culprit"] is None) == (cause, cause == "unknown")


def test_slow_start_names_its_flow_its_flight_and_the_path() -> None:
    flights = {"inflight_max_packets": [10] * 5 + [400] * 5 + [40] * 190}
    row = table(rounds(200, **waits(EARLY), **DOUBLES, **flights)).row(0, named=True)
    assert (row["cause"], row["culprit"], row["peak_packets"]) == ("slow-start", 0, 400)
    # 46.3 Mbit/s and 10 ms: 40 packets of 1,448 bytes.
    assert row["fills_packets"] == pytest.approx(40, rel=0.02)


def test_less_in_flight_than_fills_the_path_is_a_burst() -> None:
    """Run s1501-063: 297 packets overflow a buffer of 69, on a path that holds 619."""
    rtts = [100_400.0] * 5 + [200_000.0] * 30 + [100_400.0] * 165

    def spiked(height_us: float, *beside: pl.DataFrame) -> dict[str, object]:
        high = [100e3, *(min(us, 100e3 + height_us) for us in rtts[1:])]
        own = rounds(
            200,
            rtt_min_us=high,
            rtt_mean_us=high,
            rtt_max_us=high,
            **DOUBLES,
            inflight_max_packets=[50] * 5 + [300] * 5 + [20] * 190,
        )
        far = DIRECTIONS.with_columns(rtt_min_us=pl.lit(100e3))
        seen = capture(flows=FLOWS, directions=far, rounds=stack(own, *beside))
        return spikes.table(seen).row(0, named=True)

    row = spiked(60e3)
    assert (row["cause"], row["culprit"], row["peak_packets"]) == ("burst", 0, 300)
    # Other flows take their part of what fills the path.
    calm = dict.fromkeys(("rtt_min_us", "rtt_mean_us", "rtt_max_us"), 100e3)
    beside = rounds(200, flow=1, **calm, inflight_max_packets=600)
    assert spiked(60e3, beside)["cause"] == "slow-start"
    # 300 packets of 0.25 ms make nobody wait for longer than 75 ms.
    assert spiked(90e3)["cause"] == "slow-start"


def test_what_waits_is_packets_not_rounds() -> None:
    """Prague at 5 Mbit/s and 160 ms: an initial window, over in 12 ms, lasted for "0.2 s"."""

    def found(train_bps: float | None, least_us: float, most_us: float = 50e3) -> pl.DataFrame:
        trains = [50e6] * 10 + [train_bps] + [50e6] * 9
        return table(
            rounds(
                20,
                start_ns=[200 * MS * n for n in range(20)],
                end_ns=[200 * MS * (n + 1) for n in range(20)],
                rtt_min_us=[10_000.0] * 10 + [least_us] + [10_000.0] * 9,
                rtt_mean_us=[10_400.0] * 10 + [(least_us + most_us) / 2] + [10_400.0] * 9,
                rtt_max_us=[10_400.0] * 10 + [most_us] + [10_400.0] * 9,
                acked_bytes=14_480,
                acked_packets=10,
                train_bps=trains,
            )
        )

    assert found(5e6, 10_000.0).is_empty(), "24 ms of packets, of which two thirds waited"
    assert found(None, 10_000.0)["end_ns"].to_list() == [2_123 * MS]
    assert found(5e6, 40_000.0)["end_ns"].to_list() == [2_200 * MS], "all waited"
    released = found(30e9, 10_000.0, 150e3)
    assert released["end_ns"].item() == 2_124_600_000, "a burst of a link is no rate of the path"


def test_packets_that_fill_the_path_are_segments_whatever_offloads_hand_over() -> None:
    """Lab run s1401-082: "491 packets were in flight (36 fill the path)", at 252 segments."""
    flights = {"inflight_max_packets": [10] * 5 + [400] * 5 + [40] * 190}
    merged = capture(
        flows=FLOWS.with_columns(mss_server=pl.lit(1448, FLOWS.schema["mss_server"])),
        directions=DIRECTIONS.with_columns(
            max_payload=pl.lit(10_136, DIRECTIONS.schema["max_payload"])
        ),
        rounds=rounds(200, **waits(EARLY), **DOUBLES, **flights),
    )
    assert spikes.table(merged)["fills_packets"][0] == pytest.approx(40, rel=0.02)


def test_of_two_flows_in_slow_start_the_one_with_more_in_flight_is_the_cause() -> None:
    """A Prague flow with 29 packets in flight was blamed for what Reno's 411 did."""
    small, large = (
        rounds(
            200,
            flow=flow,
            **waits(EARLY),
            **DOUBLES,
            inflight_max_packets=[10] * 5 + [peak] * 5 + [10] * 190,
            acked_packets=acked,
        )
        for flow, peak, acked in ((0, 29, 60), (1, 411, 40))
    )
    row = table(small, large).row(0, named=True)
    assert (row["cause"], row["culprit"], row["peak_packets"]) == ("slow-start", 1, 411)


@pytest.mark.parametrize("first", [0, 1])
def test_of_two_flows_with_as_much_in_flight_the_earlier_one_is_the_cause(first: int) -> None:
    """Lab run s1101-064: 34 packets each, and now one, now the other was blamed."""
    flows = [
        rounds(
            200,
            begin_ns=0 if flow == first else MS,
            flow=flow,
            **waits(EARLY),
            **DOUBLES,
            inflight_max_packets=[10] * 5 + [34] * 5 + [10] * 190,
        )
        for flow in (0, 1)
    ]
    assert table(*flows).row(0, named=True)["culprit"] == first


def test_a_small_flow_that_opens_the_event_is_not_the_cause_of_its_height() -> None:
    """Simulated run s8103-047: 10 packets of a paced flow, blamed for the 158 ms of a later one."""
    paced = rounds(
        200,
        **waits([30_000.0] * 5 + [400.0] * 195),
        slow_start=[True] * 2 + [False] * 198,
        inflight_max_packets=[10] * 2 + [2] * 198,
    )
    bulk = rounds(
        200,
        begin_ns=200 * MS,
        flow=1,
        **waits([min(us, 150_000.0) for us in EARLY]),
        **DOUBLES,
        inflight_max_packets=[10] * 5 + [310] * 5 + [10] * 190,
    )
    row = table(paced, bulk).row(0, named=True)
    assert (row["start_ns"], row["hit"]) == (0, "0, 1")
    assert (row["cause"], row["culprit"], row["peak_packets"]) == ("slow-start", 1, 310)


def test_a_flow_that_begins_in_the_highest_round_is_the_cause() -> None:
    """Simulated run s71129-028: at both ends the round that waited most began before the flow."""
    high = [400.0] * 100 + [210_000.0] + [200_000.0] * 29 + [400.0] * 70
    newcomer = rounds(
        100,
        begin_ns=1_002 * MS,
        flow=1,
        **waits([400.0] + [200_000.0] * 20 + [400.0] * 79),
        slow_start=[True] * 2 + [False] * 98,
        inflight_max_packets=[310] * 2 + [10] * 98,
    )
    row = table(rounds(200, **waits(high)), newcomer).row(0, named=True)
    assert (row["cause"], row["culprit"], row["hit"]) == ("slow-start", 1, "0, 1")


def test_a_flow_that_just_began_is_the_cause() -> None:
    newcomer = rounds(100, begin_ns=990 * MS, flow=1, **waits([400.0] * 100))
    row = table(rounds(200, **waits(HIGH)), newcomer).row(0, named=True)
    assert (row["cause"], row["culprit"], row["flows"]) == ("new-flow", 1, 1)


def test_one_event_for_all_flows_that_it_hits() -> None:
    """The second waits 50 ms more, and from 0.1 s later."""
    other = [400.0] * 110 + [250_000.0] * 30 + [400.0] * 60
    lost = [5] + [0] * 110 + [3] * 2 + [0] * 87
    both = rounds(200, **waits(HIGH), retransmits=lost), rounds(200, flow=1, **waits(other))
    row = table(*both).row(0, named=True)
    assert (row["flow"], row["flows"], row["hit"]) == (1, 2, "0, 1")
    assert (row["start_ns"], row["end_ns"]) == (1_000 * MS, 1_400 * MS)
    assert row["height_us"] == pytest.approx(250_000)
    assert row["lost"] == 6, "what was lost long before does not count"


def test_a_short_peak_or_a_high_usual_delay_is_no_spike() -> None:
    assert table(rounds(200, **waits([400.0] * 100 + [50e3] * 3 + [400.0] * 97))).is_empty()
    assert table(rounds(200, **waits([20e3 + 100 * (n % 150) for n in range(200)]))).is_empty()


@pytest.mark.parametrize(("calm", "count"), [(4, 1), (30, 2)])
def test_a_short_calm_does_not_end_a_spike(calm: int, count: int) -> None:
    high = [200_000.0] * 20
    delays = [400.0] * 60 + high + [400.0] * calm + high + [400.0] * (100 - calm)
    found = table(rounds(200, **waits(delays)))
    assert found["rounds"].to_list() == ([40] if count == 1 else [20, 20])


def both_ends(delays: list[float], owds: list[float], **columns: object) -> pl.DataFrame:
    """RTTs that show ``delays`` and one-way delays that show ``owds``, both of all packets."""
    shown = {"owd_min_us": [0.0, *owds[1:]], "owd_mean_us": owds, "owd_max_us": owds}
    return rounds(len(delays), sent_packets=10, **(waits(delays) | shown | columns))


def test_what_round_trips_show_stays_where_one_way_delays_bear_it_out() -> None:
    """Of a second capture: the usual one-way delay is 25 ms, as its rounds hold a burst each."""
    height = [400.0] * 100 + [60e3] * 20 + [400.0] * 80
    row = table(both_ends(height, [25e3] * 100 + [60e3] * 20 + [25e3] * 80)).row(0, named=True)
    assert (row["one_way"], row["height_us"], row["usual_us"]) == (True, 60e3, 400.0)
    # ACKs that came late are no queue of the data.
    assert table(both_ends(height, [400.0] * 200)).is_empty()


@pytest.mark.parametrize(("high_us", "cause"), [(200e3, "rate-drop"), (60e3, "unknown")])
def test_acks_show_a_fall_a_round_trip_after_the_packets_that_waited(high_us: float, cause: str):
    """Simulated run s6127-007: the capacity fell 0.3 s after what both ends showed was over."""
    run = dropped()
    owds = [high_us if 475 <= n < 485 else 400.0 for n in range(run.rounds.height)]
    shown = [pl.Series(f"owd_{of}_us", owds) for of in ("min", "mean", "max")]
    made = run.rounds.with_columns(shown, sent_packets=pl.lit(10, pl.UInt32))
    row = spikes.table(replace(run, rounds=made)).row(0, named=True)
    assert (row["end_ns"], row["one_way"], row["cause"]) == (4_850 * MS, True, cause)


def test_flows_that_only_round_trips_show_hit_belong_to_the_event() -> None:
    """Simulated run s5519-057: what slow start did was "another flow started"."""
    first = both_ends(EARLY, EARLY)
    owds = [max(us, 120e3) for us in EARLY]
    second = both_ends(EARLY, owds, flow=1, **DOUBLES, inflight_max_packets=400)
    row = table(first, second).row(0, named=True)
    assert (row["hit"], row["cause"], row["culprit"]) == ("0, 1", "slow-start", 1)
    assert table(first, both_ends([400.0] * 200, owds, flow=1))["hit"].to_list() == ["0"]


def test_the_flow_that_waited_longest_decides_whether_it_was_a_burst() -> None:
    """Simulated run s7403-014: 40 ms of one flow, higher by 3 ms, hid 90 ms of another."""
    longer = [400.0] * 100 + [60e3] * 9 + [400.0] * 91
    higher = [400.0] * 100 + [63e3] * 4 + [400.0] * 96
    assert table(rounds(200, **waits(higher))).is_empty()
    both = rounds(200, **waits(higher)), rounds(200, flow=1, **waits(longer))
    row = table(*both).row(0, named=True)
    assert (row["height_us"], row["hit"]) == (63e3, "0, 1")
