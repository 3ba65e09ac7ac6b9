"""Flows over UDP in the rates, phases and shares of the paths that TCP takes, too."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from l4strace.derive import capacity, coexistence, datagrams, phases, spikes
from l4strace.evidence import Capture
from tests.support.datagrams import COUNT, LINK, SLOT_NS, TAKES, over_udp, rest, run, wave
from tests.support.frames import MS, stack


def changes(made: Capture) -> list[str]:
    return phases.table(made)["changed"].drop_nulls().to_list()


def test_what_begins_and_ends_over_udp_changes_no_capacity() -> None:
    queue = [10_400.0] * 500 + [60_000.0] * 10 + [10_400.0] * 990
    made = run(rest(TAKES), over_udp(TAKES, "quic"), rtt_mean_us=queue)
    assert changes(made) == []
    alone = run(rest(TAKES), rtt_mean_us=queue)
    assert changes(alone) == ["capacity", "capacity"], "the link carries nothing else"


def test_a_slot_has_what_both_carried() -> None:
    found = capacity.slots(run(rest(TAKES), over_udp(TAKES)))
    assert found["delivered_bps"].to_list() == pytest.approx([20e6] * 150, rel=0.01)
    assert found["beside_bps"][75] == pytest.approx(14e6, rel=0.01)
    assert found["beside_bps"][25] == 0.0


def test_where_its_feedback_is_read_in_another_capture_it_counts_once() -> None:
    """Its row stands where those of TCP do, though this capture knows only what it sent."""
    alone, beside = run(rest(TAKES)), over_udp(TAKES)
    made = replace(
        alone,
        flows=stack(alone.flows, beside["udp_flows"]),
        directions=stack(alone.directions, beside["udp_directions"]),
        udp_rounds=beside["udp_rounds"],
    )
    assert capacity.slots(made).equals(capacity.slots(run(rest(TAKES), beside)))
    assert changes(made) == []
    assert coexistence.table(made)["other_flow"].to_list() == [9, 0]
    assert datagrams.directions(made)["flow"].to_list() == [9]
    assert datagrams.measured(made).is_empty()


def test_the_other_direction_of_the_link_counts_nothing() -> None:
    back = over_udp(TAKES, forward=False)
    alone, both = run([LINK] * COUNT), run([LINK] * COUNT, back)
    assert phases.table(both).equals(phases.table(alone))
    assert coexistence.table(both).is_empty()
    other = over_udp(TAKES, source=1)
    assert phases.table(run([LINK] * COUNT, other)).equals(phases.table(alone)), "another capture"


def test_inside_one_network_only_the_way_of_most_data_counts() -> None:
    """Both ends in one /24: the acknowledgments of the flow travel the other way."""
    ends = [pl.lit("10.9.0.1").alias("client"), pl.lit("10.9.0.2").alias("server")]
    here = over_udp(TAKES)
    here["udp_flows"] = here["udp_flows"].with_columns(ends)
    made = run(rest(TAKES), here)
    made = replace(made, flows=made.flows.with_columns(ends))
    assert coexistence.table(made).height == 2
    back = [
        table.with_columns(~pl.col("forward")) for table in (made.udp_directions, made.udp_rounds)
    ]
    turned = replace(made, udp_directions=back[0], udp_rounds=back[1])
    assert coexistence.table(turned).is_empty()


def test_a_fall_of_the_link_is_sure_though_a_flow_over_udp_takes_a_part() -> None:
    call = [2.0] * 300
    link = [18.0] * 500 + [6.0] * 1000
    queue = [10_400.0] * 500 + [60_000.0] * 10 + [10_400.0] * 990
    made = run(link, over_udp(call, "rtp"), rtt_mean_us=queue)
    assert changes(made) == ["capacity"]
    assert phases.table(made)["capacity_bps"].to_list() == pytest.approx([20e6, 8e6], rel=0.02)
    assert phases.beside(made)["sure"].to_list() == [True, True]


def test_a_rise_that_is_all_over_udp_is_not_sure() -> None:
    """As where it takes another link, or is lost behind the capture."""
    more = [0.0] * 100 + [14.0] * 200
    made = run([LINK] * COUNT, over_udp(more, "quic"))
    assert changes(made) == ["capacity"]
    assert phases.beside(made)["sure"].to_list() == [True, False]


def test_udp_prague_starves_beside_tcp() -> None:
    found = coexistence.table(run([18.0] * COUNT, over_udp(wave(2.0, 300, 20))))
    of_tcp, of_udp = found.rows(named=True)
    assert (of_udp["flow"], of_udp["other_flow"]) == (9, 0)
    assert of_udp["starved_since_ns"] == 0
    assert of_udp["starved_rate_bps"] == pytest.approx(2e6, rel=0.05)
    assert of_udp["starved_other_rate_bps"] == pytest.approx(18e6, rel=0.05)
    assert of_udp["held_back"] == 0.0
    assert of_tcp["starved_since_ns"] is None


@pytest.mark.parametrize("transport", ["udp-prague", "quic", "rtp", "udp"])
def test_tcp_starves_beside_any_flow_over_udp(transport: str) -> None:
    found = coexistence.table(run(wave(2.0, COUNT, 100), over_udp([18.0] * 300, transport)))
    of_tcp, of_udp = found.rows(named=True)
    assert of_tcp["starved_since_ns"] == 0
    assert of_tcp["other_flow"] == 9
    assert of_udp["starved_since_ns"] is None


@pytest.mark.parametrize(
    ("mbit", "transport"),
    [
        ([0.3] * 300, "udp"),
        (wave(2.0, 300, 20), "quic"),
        (wave(2.0, 300, 20), "rtp"),
        ([2.0] * 300, "udp-prague"),
    ],
    ids=["a game", "QUIC", "a call", "UDP Prague with a set rate"],
)
def test_a_flow_that_may_send_what_it_needs_does_not_starve(
    mbit: list[float], transport: str
) -> None:
    found = coexistence.table(run([LINK - 2.0] * COUNT, over_udp(mbit, transport)))
    assert found.height == 2
    assert found["starved_since_ns"].null_count() == 2


def test_the_least_rate_of_udp_prague_is_steady_and_starves() -> None:
    found = coexistence.table(run([LINK - 0.1] * COUNT, over_udp([0.1] * 300)))
    assert found["starved_since_ns"].to_list() == [None, 0]


def test_a_small_flow_over_udp_is_no_pair() -> None:
    short = over_udp([1.0] * 15)
    assert coexistence.table(run([LINK] * COUNT, short)).is_empty()


def delays(high_from_ms: int) -> dict[str, object]:
    """0.4 ms of queue, and 100 ms for 0.3 s."""
    at = high_from_ms // 10
    waits = [10_000.0, *[10_400.0] * (at - 1), *[110_000.0] * 30, *[10_400.0] * (COUNT - at - 30)]
    return {"rtt_min_us": waits, "rtt_mean_us": waits, "rtt_max_us": waits}


@pytest.mark.parametrize(
    ("begin_ms", "cause", "culprit"),
    [(4_950, "new-flow", 9), (3_000, "unknown", None), (5_400, "unknown", None)],
)
def test_a_flow_over_udp_that_begins_is_the_cause_of_a_spike(
    begin_ms: int, cause: str, culprit: int | None
) -> None:
    udp = over_udp([14.0] * 60, "quic", begin_ns=begin_ms * MS // SLOT_NS * SLOT_NS)
    (row,) = spikes.table(run([6.0] * COUNT, udp, **delays(5_000))).rows(named=True)
    assert (row["cause"], row["culprit"]) == (cause, culprit)


def test_a_small_flow_over_udp_causes_no_spike() -> None:
    udp = over_udp([0.2] * 60, "udp", begin_ns=4_950 * MS)
    (row,) = spikes.table(run([6.0] * COUNT, udp, **delays(5_000))).rows(named=True)
    assert (row["cause"], row["culprit"]) == ("unknown", None)


@pytest.mark.parametrize(("packets", "cause"), [(18, "unknown"), (90, "slow-start")])
def test_slow_start_is_not_blamed_for_a_queue_that_is_not_its_own(packets: int, cause: str) -> None:
    """Run mixup: 18 packets in flight and 54 ms of queue, which are 93 packets of the link."""
    early = delays(60) | {
        "slow_start": [n < 40 for n in range(COUNT)],
        "inflight_max_packets": [packets] * COUNT,
    }
    udp = over_udp([14.0] * 300)
    (row,) = spikes.table(run([6.0] * COUNT, udp, **early)).rows(named=True)
    assert row["cause"] == cause
