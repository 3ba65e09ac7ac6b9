"""The panels of the traffic against runs whose numbers are known."""

from __future__ import annotations

import dataclasses
from array import array
from base64 import b64decode
from typing import Any

import polars as pl
import pytest

from l4strace.evidence import Evidence
from l4strace.model import Analysis
from l4strace.page.case import Case
from l4strace.page.sections import traffic
from l4strace.page.sections.traffic.link import quantiles
from l4strace.page.sections.verdict import glance
from tests.support import synthetic
from tests.support.frames import MS, ROUND_NS, evidence, frame

ROUNDS = 1000
"""Of 10 ms: the run lasts 10 s."""


def shared(**columns: Any) -> Evidence:
    """Flow 0 delivers 40 packets a round, flow 1 half of it, on a path that carries 80."""
    starts = [n * ROUND_NS for n in range(ROUNDS)]
    times = {"start_ns": starts * 2, "end_ns": [start + ROUND_NS for start in starts] * 2}
    packets = [40] * ROUNDS + [20] * ROUNDS
    delays = [float(n) for n in range(ROUNDS)] * 2
    plain: dict[str, Any] = {
        "acked_packets": packets,
        "acked_bytes": [1448 * n for n in packets],
        "queue_delay_us": delays,
        "rtt_mean_us": [10_000.0 + us for us in delays],
        "ce_best": [4] * ROUNDS + [0] * ROUNDS,
        "retransmits": 0,
    }
    rounds = frame(
        "rounds",
        flow=[0] * ROUNDS + [1] * ROUNDS,
        round=[*range(ROUNDS), *range(ROUNDS)],
        **(times | plain | columns),
    )
    return evidence(
        sources=frame("sources", first_ns=0, last_ns=ROUNDS * ROUND_NS, tcp_packets=[60_000]),
        flows=frame("flows", flow=[0, 1], client_port=[40001, 40002]),
        directions=frame(
            "directions", flow=[0, 1], payload_bytes=[57_920_000, 28_960_000], data_ect1=[40_000, 0]
        ),
        rounds=rounds,
        phases=frame(
            "phases",
            path=["10.0.1.0/24>10.0.3.0/24"],
            phase=0,
            start_ns=0,
            end_ns=ROUNDS * ROUND_NS,
            capacity_bps=80 * 1448 * 8 / 0.01,
            capacity_shown=True,
            rate_bps=60 * 1448 * 8 / 0.01,
        ),
    )


def built(run: Evidence) -> traffic.TrafficSection:
    return traffic.build(Case(run, Analysis(())))


def test_each_flow_and_all_have_their_part_of_the_capacity() -> None:
    first, second, every = built(shared()).rows
    assert (first.throughput, second.throughput, every.throughput) == (
        "46.3 Mbit/s", "23.2 Mbit/s", "69.5 Mbit/s",
    )  # fmt: skip
    assert (first.part, second.part, every.part) == ("67 %", "33 %", "100 %")
    assert (first.used, second.used, every.used) == ("50 %", "25 %", "75 %")
    assert (first.marked, second.marked, every.marked) == ("10 %", "0 %", "6.7 %")
    assert first.delay == "499 µs / 989 µs"
    assert first.rtt == "10.5 ms / 11 ms"
    assert (first.key, every.key) == ("flow-0", "")


def test_one_flow_alone_is_not_shown_once_more_as_all() -> None:
    """Recorded run up1: each number of the only flow stood twice."""
    run = shared()
    own = {name: getattr(run, name).filter(flow=0) for name in ("flows", "directions", "rounds")}
    section = built(dataclasses.replace(run, **own))
    assert [row.key for row in section.rows] == ["flow-0"]
    names = {trace["name"] for chart in section.charts for trace in chart.spec["data"]}
    assert "all flows" not in names
    assert "all flows" not in " ".join(chart.caption for chart in section.charts).lower()


@pytest.mark.parametrize(
    ("transports", "lost"),
    [
        (["tcp", "tcp"], "0 retransmitted (0 %)"),
        (["udp-prague", "tcp"], "0 retransmitted or reported as lost (0 %)"),
        (["udp-prague", "udp-prague"], "0 reported as lost (0 %)"),
    ],
)
def test_losses_are_named_as_the_transports_show_them(transports: list[str], lost: str) -> None:
    run = shared()
    flows = run.flows.with_columns(transport=pl.Series(transports))
    charts = built(dataclasses.replace(run, flows=flows)).charts
    (caption,) = (chart.caption for chart in charts if chart.title == "Marks and drops")
    assert caption.endswith(f" and {lost}.")


def test_a_path_without_a_standing_queue_shows_no_utilization() -> None:
    run = shared()
    unknown = dataclasses.replace(run, phases=run.phases.with_columns(capacity_shown=False))
    section = built(unknown)
    assert {row.used for row in section.rows} == {"\N{EN DASH}"}
    # The chart has a line of it all the same: run s8103-002, "No queue shows the capacity".
    assert "packet trains suggest; no queue confirms it, so how much of it was used is unknown" in (
        section.charts[0].caption
    )


def test_the_cdf_ends_at_all_packets_and_passes_the_median() -> None:
    charts = {chart.key: chart for chart in built(shared()).charts}
    trace = charts["traffic-delay"].spec["data"][0]
    xs, ys = (
        array(code, b64decode(trace[axis]["bdata"])) for axis, code in (("x", "d"), ("y", "f"))
    )
    assert (xs[-1], ys[-1]) == (pytest.approx(0.999), 100)
    assert xs[list(ys).index(50)] == pytest.approx(0.499, abs=2e-3)
    assert list(xs) == sorted(xs)


def test_marks_are_shares_of_what_was_delivered() -> None:
    charts = {chart.key: chart for chart in built(shared(retransmits=1)).charts}
    assert charts["traffic-losses"].caption == (
        "Of 60,000 delivered packets 4,000 were marked (6.7 %) and 2,000 retransmitted (3.3 %)."
    )


def test_flows_are_compared_over_several_rounds_of_the_slowest() -> None:
    """Lab run s1401-093: peaks of 490 Mbit/s on a link of 44.5, as rounds took 157 ms."""
    run = shared()
    long = pl.col("start_ns") + pl.when(pl.col("flow") == 1).then(157 * MS).otherwise(ROUND_NS)
    chart = glance.chart(
        Case(dataclasses.replace(run, rounds=run.rounds.with_columns(end_ns=long)), Analysis(()))
    )
    assert chart is not None
    assert "over intervals of 628 ms" in chart.caption


def test_quantiles_are_weighted() -> None:
    values, weights = pl.Series([30.0, 10.0, 20.0, None]), pl.Series([1, 98, 1, 50])
    assert quantiles(values, weights, (0.5, 0.99, 1.0)) == {0.5: 10.0, 0.99: 20.0, 1.0: 30.0}
    assert quantiles(values.clear(), weights.clear(), (0.5,)) == {}


def test_short_flows_are_shown_by_size_and_codepoint() -> None:
    count = 12
    numbers = list(range(count))
    run = evidence(
        flows=frame("flows", flow=numbers, client_port=[40001 + n for n in numbers]),
        directions=frame(
            "directions",
            flow=numbers,
            payload_bytes=[9_000] * 6 + [200_000] * 6,
            data_packets=10,
            data_ect1=[10] * 6 + [0] * 6,
            data_ect0=[0] * 6 + [9] * 6,
            data_ce=[0] * 6 + [1] * 6,
            last_ns=[(10 + n) * MS for n in numbers],
        ),
    )
    small, large = built(run).short
    assert (small.size, small.sent_as, small.flows, small.marked) == (
        "up to 10 kB",
        "ECT(1)",
        "6",
        "0 %",
    )
    assert (large.size, large.sent_as, large.marked) == ("up to 1 MB", "ECT(0)", "10 %")
    assert small.p99 == "15 ms"
    (chart,) = built(run).charts
    assert [trace["name"] for trace in chart.spec["data"]] == ["ECT(1)", "ECT(0)"]


def test_a_run_without_rounds_shows_why_the_section_is_empty() -> None:
    run = synthetic.healthy()
    section = built(dataclasses.replace(run, rounds=run.rounds.clear()))
    assert (section.charts, section.rows) == ((), ())
    assert section.absent


def test_classic_feedback_shows_the_least_of_the_marks() -> None:
    """Lab run s1401-082: "27 were marked" beside 92 between the captures. One mark may last."""
    turns = [2, 2, 0] * 333 + [2]
    echoes = {"ce_best": [4] * ROUNDS + [None] * ROUNDS, "ece_acks": [None] * ROUNDS + turns}
    section = built(shared(**echoes))
    charts = {chart.key: chart for chart in section.charts}
    assert "at least 4,334 were marked" in charts["traffic-losses"].caption
    first, second, every = section.rows
    assert (first.marked, second.marked, every.marked) == (
        "10 %", "at least 1.7 %", "at least 7.2 %",
    )  # fmt: skip


def test_marks_of_classic_feedback_are_counted_where_they_arrive() -> None:
    """One page said "at least 27" above the 21 that its capture at the receiver holds."""
    run = shared(ce_best=None, ece_acks=1)
    far = frame("directions", source=1, flow=[0, 1], data_ce=[20, 1])
    flows = frame("flows", source=1, flow=[0, 1], vantage="server")
    both = dataclasses.replace(
        run,
        directions=pl.concat([run.directions, far]),
        flows=pl.concat([run.flows, flows]),
        sources=frame("sources", source=[0, 1], first_ns=0, last_ns=ROUNDS * ROUND_NS),
    )
    charts = {chart.key: chart for chart in built(both).charts}
    assert "packets 21 were marked" in charts["traffic-losses"].caption


def test_jitter_is_said_to_be_part_of_what_looks_like_queue() -> None:
    noise = frame("noise", flow=[0, 1], common_us=2_860.0)
    charts = {
        chart.key: chart for chart in built(dataclasses.replace(shared(), noise=noise)).charts
    }
    assert charts["traffic-delay"].caption.endswith("Jitter of 2.86 ms is part of it.")
