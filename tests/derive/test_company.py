"""Which directions share a path."""

from __future__ import annotations

import math
import random
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from l4strace.derive import company
from tests.support.frames import capture, frame


@pytest.mark.parametrize(
    ("client", "server", "path"),
    [
        ("10.0.1.2", "10.0.3.2", "10.0.1.0/24>10.0.3.0/24"),
        ("2001:db8:1:2::5", "2001:db8:9:9::1", "2001:db8:1:2::/64>2001:db8:9:9::/64"),
        ("fd00::1", "fd00::1:2", "fd00::/64>fd00::/64"),
        ("::ffff:10.0.1.2", "fe80::1%eth0", "10.0.1.0/24>fe80::/64"),
        ("host-1", "10.0.3.2", "host-1>10.0.3.0/24"),
    ],
)
def test_path_joins_the_two_networks(client: str, server: str, path: str) -> None:
    flows = frame("flows", client=client, server=server)
    made = capture(flows=flows, directions=frame("directions", forward=[True, False]))
    forward, reverse = company.directions(made)["path"].to_list()
    assert forward == path
    assert reverse == ">".join(reversed(path.split(">")))


def test_two_addresses_of_one_ipv6_network_share_a_path() -> None:
    """By text, fd00::1 and fd00::1:2 differ before the fourth colon."""
    flows = frame("flows", flow=[0, 1], client=["fd00::1", "fd00::1:2"], server="fd00:1::9")
    made = capture(flows=flows, directions=frame("directions", flow=[0, 1]))
    assert company.directions(made)["path"].n_unique() == 1


def test_codepoint_of_most_data_names_the_class() -> None:
    directions = frame(
        "directions",
        flow=[0, 1, 2],
        data_ect1=[9, 0, 0],
        data_ect0=[1, 9, 0],
        data_not_ect=[0, 1, 9],
    )
    table = company.directions(capture(flows=frame("flows", flow=[0, 1, 2]), directions=directions))
    assert table["marked_as"].to_list() == ["ect1", "ect0", "not_ect"]


def test_what_many_ask_for_is_made_once() -> None:
    made = capture(flows=frame("flows"), directions=frame("directions"))
    assert company.directions(made) is company.directions(made)


def test_networks_are_those_of_the_parsed_addresses() -> None:
    odd = ["?", "", "host-1", "fe80::1%eth0", "64:ff9b::192.0.2.1", "2001:db8::1::2", "a\0b"]
    zeros = ["::", "::1", "::1.2.3.4", "::ffff:0:1.2.3.4", "1::2", "0:0:1:2:3::", "1:0:0:0:1::2"]
    mapped = ["fd00::1", "::ffff:10.0.1.9", "2001:db8:0:ff::1", "2001:0db8:0:0:a::1"]
    addresses = pl.Series(["10.0.1.2", "192.168.255.254", None, *odd, *zeros, *mapped])
    near, far = company._networks(
        pl.DataFrame({"client": addresses, "server": addresses.reverse()})
    )
    assert near.to_list() == [a if a is None else company.network(a) for a in addresses]
    assert far.to_list() == near.to_list()[::-1]


@pytest.mark.parametrize(
    ("lowest", "rate_bps", "apart"),
    [
        (3_000.0, 50e6, 0.0),  # 3 to 5 ms beside 4 to 6 ms
        (8_000.0, 50e6, 1.0),
        (6_800.0, 50e6, 0.0),  # within a step of DualPI2
        (8_000.0, 8e6, 0.0),  # two packets of a slow link
    ],
)
def test_waits_that_do_not_meet_at_the_same_time(
    lowest: float, rate_bps: float, apart: float
) -> None:
    rows = [row for flow, low in ((0, 4_000.0), (1, lowest)) for row in rounds_of(flow, low)]
    found = neighbours([row | {"rate_bps": rate_bps} for row in rows])
    assert found["scalable_apart"].to_list() == [apart, apart]


def rounds_of(flow: int, low: float, acked: int = 20, marks: int = 0) -> list[dict[str, Any]]:
    """Rounds of 20 ms for 2 s, whose packets wait from ``low`` us to 2 ms longer."""
    length = 20_000_000
    return [
        {
            "of": flow,
            "at": 0,
            "marked_as": "ect1",
            "start_ns": number * length,
            "end_ns": (number + 1) * length,
            "rtt_min_us": 10_000.0 + low,
            "rtt_max_us": 10_000.0 + low + 2_000.0,
            "base_us": 10_000.0,
            "floor_us": 10_000.0 + low,
            "rate_bps": 50e6,
            "queue_delay_us": low + 1_000.0,
            "acked_packets": acked,
            "acked_bytes": acked * 1_448,
            "limited_by": "cwnd",
            "marks": marks,
            "marking_us": None,
            "above_us": 0.0,
            "phase": 0,
        }
        for number in range(100)
    ]


def neighbours(rows: list[dict[str, Any]]) -> pl.DataFrame:
    kinds = dict.fromkeys(("of", "at", "phase"), pl.UInt32()) | {"acked_bytes": pl.UInt64()}
    rounds = pl.DataFrame(rows, schema_overrides=kinds | {"marking_us": pl.Float64()})
    return company.neighbours(rounds).sort("of")


def test_rates_and_rtts_are_compared_where_both_always_wait() -> None:
    found = neighbours([*rounds_of(0, 4_000.0), *rounds_of(1, 9_000.0, acked=40)])
    assert found["scalable_waiting"].to_list() == [20, 20]
    assert found["scalable_uneven"].to_list() == pytest.approx([math.log(2)] * 2)
    assert found["scalable_unlike"].to_list() == pytest.approx([math.log(20 / 15)] * 2)


def test_a_flow_that_finds_the_queue_empty_at_times_is_not_compared() -> None:
    """At 50 Mbit/s two packets take 0.48 ms."""
    found = neighbours([*rounds_of(0, 4_000.0), *rounds_of(1, 400.0)])
    assert found["scalable_waiting"].to_list() == [0, 0]


@pytest.mark.parametrize(("acked", "slots"), [(9, 20), (11, 0)])
def test_marks_at_less_than_half_the_rate_of_the_others_are_counted(acked: int, slots: int) -> None:
    found = neighbours([*rounds_of(0, 100.0, acked=20), *rounds_of(1, 100.0, acked, marks=1)])
    assert found["scalable_outrun"].to_list() == [0, slots]
    assert found["scalable_outruns"].to_list() == [slots, 0]


def test_packets_that_cannot_be_marked_are_no_queue_without_a_mark() -> None:
    rows = rounds_of(1, 9_000.0)
    beyond = [row | {"marked_as": "ect0", "above_us": 5_000.0} for row in rows]
    unmarkable = [row | {"marked_as": "not_ect"} for row in beyond]
    for other, count in ((beyond, 100), (unmarkable, 0)):
        found = neighbours([*rounds_of(0, 9_000.0), *other])
        assert found["classic_high"][0] == found["classic_high_unmarked"][0] == count


def test_the_least_that_others_waited_is_that_of_their_smallest_rtt() -> None:
    found = neighbours([*rounds_of(0, 400.0), *rounds_of(1, 6_500.0)])
    assert found["scalable_least_us"].to_list() == [6_500.0, 400.0]


def test_rates_are_those_that_polars_finds() -> None:
    draw = random.Random(3)
    rows = [
        (draw.randrange(9), draw.randrange(-(10**9), 30 * 10**9), draw.randrange(10**6))
        for _ in range(900)
    ]
    schema = {"at": pl.UInt32, "start_ns": pl.Int64, "acked_bytes": pl.UInt64}
    rounds = pl.DataFrame(rows, schema=schema, orient="row")
    second = (pl.col("start_ns") // 1_000_000_000).alias("second")
    bits = (pl.col("acked_bytes").sum() * 8).cast(pl.Float64)
    seconds = rounds.group_by("at", second).agg(bits=bits).group_by("at")
    expected = seconds.agg(rate_bps=pl.col("bits").quantile(company.HIGH)).sort("at")
    assert_frame_equal(company.rates(rounds), expected)
