"""Flows over UDP on the page: the table, the opening chart and the charts of each."""

from __future__ import annotations

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.model import Analysis
from l4strace.page.case import Case
from l4strace.page.figures import codepoints
from l4strace.page.sections import checklist, detector, flows, timelines, traffic, verdict
from l4strace.page.sections.verdict import glance
from l4strace.page.transports import drawn
from l4strace.wording.amounts import NONE
from tests.support.datagrams import over_udp
from tests.support.frames import evidence, frame, rounds
from tests.support.places import FIXTURES

RUNS = FIXTURES / "user-space"


def case(run: str) -> Case:
    ends = [str(RUNS / f"{run}-{end}.pcap.xz") for end in "ab"]
    found = pipeline.derive(pipeline.read(ends, companions=False), strict=True)
    return Case(found, pipeline.judge(found, strict=True))


@pytest.fixture(scope="module")
def prague() -> Case:
    return case("up1")


@pytest.fixture(scope="module")
def quic() -> Case:
    return case("pq1")


def beside_tcp() -> Evidence:
    return evidence(
        sources=frame("sources", first_ns=0, last_ns=10**9, tcp_packets=50, udp_packets=70),
        flows=frame("flows", transport="tcp"),
        directions=frame("directions", data_ect1=0, data_ect0=1000, data_not_ect=0),
        rounds=rounds(3),
        **over_udp([8.0] * 20),
    )


def test_without_udp_the_evidence_stays_as_it_is() -> None:
    plain = evidence()
    assert drawn(plain) is plain


def test_what_was_sent_is_drawn_where_only_another_capture_reads_the_reports() -> None:
    slots = over_udp([8.0] * 20)["udp_rounds"]
    assert drawn(evidence(udp_rounds=slots)).rounds.height == slots.height


def test_feedback_in_clear_draws_what_tcp_draws(prague: Case) -> None:
    (flow,) = timelines.build(prague).flows
    assert [chart.key.removesuffix("-flow-0") for chart in flow.charts] == [
        *("goodput", "queue", "rtt", "codepoints", "alpha", "window")
    ]
    reported = prague.evidence.udp_round_trips.filter(source=0)
    assert int(reported["reported_bytes"].sum()) == prague.charted[0].delivered_bytes
    assert flow.charts[0].caption.endswith("reported); 0 packets reported as lost.")


def test_without_feedback_rates_are_what_was_sent(quic: Case) -> None:
    flow = timelines.build(quic).flows[0]
    names = [chart.key.partition("-flow")[0] for chart in flow.charts]
    assert names == ["goodput", "marks", "codepoints"]
    largest = quic.charted[0]
    assert largest.delivered_bytes == largest.totals["payload_bytes"]
    assert flow.charts[0].title == "Sending rate"
    (seen,) = verdict.build(quic).charts
    assert (seen.title, len(seen.spec["data"])) == ("CE marks per round", 1), "bursts are marked"
    carried = glance.chart(quic)
    assert carried is not None
    assert (carried.title, len(carried.spec["data"])) == ("Sending rate", 1)
    assert carried.caption.startswith("Sent payload per second")


def test_the_opening_of_udp_alone_counts_it() -> None:
    fine = case("qg1")
    opening = verdict.build(fine)
    assert (opening.headline, opening.severity) == (
        "Nothing wrong found in 1 flow over UDP",
        "partly",
    )
    packets = int(fine.evidence.sources["udp_packets"].sum())
    assert opening.scope.startswith(f"1 flow · {packets:,} packets in 2 captures")


def test_flows_of_all_transports_stand_in_one_chart_and_one_table() -> None:
    mixed = Case(beside_tcp(), Analysis(()))
    (seen,) = verdict.build(mixed).charts
    names = {trace["name"] for trace in seen.spec["data"]}
    assert "flow 9 (UDP Prague, ECT(1))" in names
    assert len(names) == 2
    assert seen.caption.startswith("Acknowledged or sent payload")
    rows = {row.flow: row for row in flows.build(mixed).rows}
    assert rows[9].charted
    assert rows[9].mode == "UDP Prague"
    assert "flow-9" in mixed.anchors


def test_no_transport_over_udp_shows_what_is_retransmitted(prague: Case) -> None:
    (row,) = traffic.build(prague).rows
    assert (row.again, flows.build(prague).rows[0].retransmits.text) == (NONE, NONE)


def test_sections_on_tcp_say_that_there_is_none(prague: Case) -> None:
    assert detector.build(prague).absent == detector.NONE_OVER_TCP
    assert detector.build(Case(evidence(), Analysis(()))).absent == detector.ABSENT


def test_charts_of_traffic_name_what_udp_reports(prague: Case) -> None:
    """Nothing is acknowledged there."""
    captions = " ".join(chart.caption for chart in traffic.build(prague).charts)
    assert "Reported payload per second" in captions
    assert "Data to feedback" in captions


def test_the_log_of_a_sender_over_udp_is_drawn_as_that_of_a_kernel() -> None:
    """From the first feedback on: 90 packets of the smallest size are no window."""
    log = frame(
        "kernel",
        source=1,
        flow=9,
        ts_ns=[0, 10**8, 2 * 10**8, 3 * 10**8],
        snd_cwnd=[90, 10, 12, 14],
        alpha=[None, 0.5, 0.4, 0.3],
        delivered=[None, 5, 6, 7],
    )
    inputs = frame("sources", source=[0, 1], path=["a.pcap", "sq.qlog"], kind=["pcap", "qlog"])
    sent = over_udp([8.0] * 20, "quic")
    hidden = [pl.lit(None, pl.Float64).alias(name) for name in ("rtt_mean_us", "queue_delay_us")]
    sent["udp_rounds"] = sent["udp_rounds"].with_columns(hidden)
    logged = Case(evidence(sources=inputs, udp_kernel=log, **sent), Analysis(()))
    (flow,) = timelines.build(logged).flows
    charts = {chart.title: chart for chart in flow.charts}
    window, *_ = charts["Window and packets in flight"].spec["data"]
    alpha, *_ = charts["Alpha"].spec["data"]
    assert (window["name"], alpha["name"]) == ("window, sender's log", "sender's log")
    assert "sender's log window 12" in charts["Window and packets in flight"].caption
    assert flow.about.endswith("window and counts of the sender from sq.qlog.")
    uncounted = log.with_columns(delivered=pl.lit(None, pl.UInt32))
    logged = Case(evidence(sources=inputs, udp_kernel=uncounted, **sent), Analysis(()))
    assert logged.charted[0].kernel.height == log.height


def test_the_log_of_a_sender_alone_is_drawn_and_not_said_to_be_a_capture() -> None:
    found = evidence(
        sources=frame(
            "sources", kind="qlog", path="sq.qlog", tcp_packets=None, first_ns=0, last_ns=10**9
        ),
        udp_flows=frame("flows", transport="quic"),
        udp_kernel=frame(
            "kernel", ts_ns=[0, 10**9], snd_cwnd=[10, 20], flow=0, forward=True, event="poll"
        ),
    )
    alone = Case(found, pipeline.judge(found, strict=True))
    assert verdict.build(alone).headline == "No packets, and the log shows no fault"
    assert "1 flow · no capture · 1 s" in verdict.build(alone).scope
    (flow,) = timelines.build(alone).flows
    assert [chart.key.partition("-")[0] for chart in flow.charts] == ["window"]
    assert checklist.build(alone).absent == checklist.UNSEEN
    assert traffic.build(alone).absent == traffic.ABSENT


@pytest.mark.parametrize(
    ("vantage", "place"),
    [("client", " at the sender"), ("server", " at the receiver"), ("unknown", "")],
)
def test_codepoints_are_those_of_the_capture_that_shows_them(vantage: str, place: str) -> None:
    tables = over_udp([8.0] * 20)
    tables["udp_flows"] = tables["udp_flows"].with_columns(vantage=pl.lit(vantage))
    (direction,) = Case(evidence(**tables), Analysis(())).charted
    assert f" packets as they passed the capture{place}: " in codepoints.describe(direction)
