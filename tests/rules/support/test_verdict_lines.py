"""The frame of a verdict: bottleneck and sharing."""

import polars as pl

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.model import VerdictLines
from l4strace.rules.support.verdict_lines import verdict_lines
from tests.support.datagrams import over_udp
from tests.support.frames import MS, evidence, frame, stack
from tests.support.places import FIXTURES
from tests.support.scenes import DIRECTIONS, bottleneck, starving, two_flows


def lines(seen: Evidence) -> VerdictLines:
    found = verdict_lines(seen)
    assert found is not None
    return found


def test_no_packets_no_frame() -> None:
    assert verdict_lines(evidence()) is None


def test_a_log_alone_has_the_line_on_the_fallback() -> None:
    """Prague's score was in the log, and the verdict was silent on it."""
    log = pipeline.read([str(FIXTURES / "bpf-prague/codel.kernel.ndjson.zst")])
    shown = lines(pipeline.derive(log))
    ((label, text),) = shown.lines
    assert label == "Fallback"
    assert text == "Not certain: active behind a classic AQM, as it should be (flow 0)."


def test_each_kind_of_bottleneck_names_its_flows() -> None:
    other = bottleneck("fifo", marking_delay_us=None, confidence=0.5).with_columns(
        flow=pl.lit(1, pl.UInt32)
    )
    both = lines(two_flows(bottlenecks=stack(bottleneck("l4s"), other)))
    assert both.limits == (
        "L4S AQM, marking at 400 us of queue delay (flow 0); possibly FIFO (flow 1)."
    )


def test_an_unknown_bottleneck_gives_its_reason() -> None:
    hidden = bottleneck(
        "unknown",
        marking_delay_us=None,
        confidence=0.0,
        reason="6 ms of jitter hides the queue.",
    )
    shown = lines(two_flows(bottlenecks=hidden))
    assert shown.limits == "Unknown: 6 ms of jitter hides the queue."
    nothing = lines(two_flows())
    assert nothing.limits == "Unknown: no flow has enough round trips with data."


def test_starvation_is_stated_with_the_share_since_it_began() -> None:
    starves = lines(two_flows(coexistence=starving(1, 0)))
    assert starves.starves
    assert starves.sharing == (
        "Flow 1 starves from t=2.0 s: 5 Mbit/s beside 45 Mbit/s of flow 0 (10 % of both)."
    )


def test_fair_rates_are_stated() -> None:
    fed = starving(1, 0).with_columns(starved_since_ns=None, jain=0.98)
    shares = lines(two_flows(coexistence=fed))
    assert not shares.starves
    assert shares.sharing == (
        "Flow 0 has 45 Mbit/s, flow 1 5 Mbit/s while both send (Jain's index 0.98)."
    )


def test_a_flow_that_asks_for_no_more_has_no_unfair_share() -> None:
    """Lab run s1401-014: 1.98 beside 7.6 Mbit/s, "Jain's index 0.74", of a flow paced to that."""
    held = pl.Series([0.64, 0.01])
    paced = starving(1, 0).with_columns(starved_since_ns=None, held_back=held)
    shares = lines(two_flows(coexistence=paced))
    assert shares.sharing == (
        "Flow 0 has 45 Mbit/s, flow 1 5 Mbit/s while both send "
        "(application or receive window limits flow 1)."
    )


def short_flows(count: int, **columns: object) -> dict[str, pl.DataFrame]:
    """A long flow 0 and ``count`` flows of 200 kB."""
    numbers = list(range(1, count + 1))
    flows = frame("flows", flow=[0, *numbers], client_port=[40001 + n for n in (0, *numbers)])
    plain = {"ended": "fin"}
    sizes = {
        "payload_bytes": [50_000_000] + [200_000] * count,
        "acked_bytes": [50_000_000] + [200_000] * count,
        "last_ns": [20_000 * MS] + [150 * MS] * count,
        "data_ect1": 139,
    }
    return {
        "flows": flows.with_columns(**{k: pl.lit(v) for k, v in plain.items()}),
        "directions": frame("directions", flow=[0, *numbers], **(sizes | columns)),
    }


def test_short_flows_are_judged_together_and_the_long_one_is_not_alone() -> None:
    shown = lines(evidence(**short_flows(9)))
    assert shown.sharing == (
        "Flow 0 sends beside short flows, 20 Mbit/s; 9 short flows of 200 kB (port 5201) "
        "completed in 150 ms (median), 150 ms (P99)."
    )
    few = lines(evidence(**short_flows(2)))
    assert few.sharing == "Flow 0 is the only large flow, 20 Mbit/s."


def test_each_flow_without_a_verdict_has_a_reason_that_holds_for_it() -> None:
    """Lab run s2501-080: "Not-ECT packets cannot be marked", of an ECT(1) flow, too."""
    nothing = {"kind": "unknown", "marking_delay_us": None, "confidence": 0.0}
    both = stack(
        frame("bottlenecks", **nothing, flow=0, reason="Not-ECT packets cannot be marked."),
        frame("bottlenecks", **nothing, flow=1, reason="2 marks."),
    )
    sent = DIRECTIONS.with_columns(
        data_ect1=pl.Series([0, 9], dtype=pl.UInt64),
        data_ect0=pl.lit(0, pl.UInt64),
        data_not_ect=pl.Series([9, 0], dtype=pl.UInt64),
    )
    found = lines(two_flows(bottlenecks=both, directions=sent))
    assert found.limits == (
        "Unknown: 2 marks (flow 1); unknown: Not-ECT packets cannot be marked (flow 0)."
    )


def test_a_flow_that_is_alone_is_not_called_the_large_one() -> None:
    first = DIRECTIONS.head(1).with_columns(
        data_packets=pl.lit(100, pl.UInt64), payload_bytes=pl.lit(10**6, pl.UInt64)
    )
    found = lines(two_flows(directions=first))
    assert found.sharing.startswith("Flow 0 is the only flow with data")


def test_the_rate_of_a_flow_that_is_alone_is_its_goodput() -> None:
    """What was sent again counts once, as in the table of flows."""
    first = DIRECTIONS.head(1).with_columns(
        data_packets=pl.lit(100, pl.UInt64),
        payload_bytes=pl.lit(10**6, pl.UInt64),
        first_ns=pl.lit(0, pl.Int64),
        last_ns=pl.lit(10**9, pl.Int64),
    )
    for acked, rate in ((900_000, "7.2 Mbit/s"), (0, "8 Mbit/s")):
        known = first.with_columns(acked_bytes=pl.lit(acked, pl.UInt64))
        found = lines(two_flows(directions=known))
        assert found is not None
        assert found.sharing == f"Flow 0 is the only flow with data, {rate}."


def carried(*flows: tuple[int, bool, int]) -> str:
    """What the frame tells of directions (flow, forward, bytes) that none sent beside."""
    table = frame(
        "directions",
        flow=[flow for flow, _, _ in flows],
        forward=[forward for _, forward, _ in flows],
        payload_bytes=[size for _, _, size in flows],
    )
    shown = lines(two_flows(directions=table))
    return shown.sharing


def test_the_other_direction_is_no_other_flow() -> None:
    only = carried((0, True, 10**6), (0, False, 529))
    assert only.startswith("Flow 0 is the only flow with data")


def test_a_few_bytes_are_no_large_flow() -> None:
    assert carried((0, True, 529), (1, True, 78)) == "No flow carried more than 529 B."
    assert carried((0, True, 10**6), (1, True, 78)).startswith("Flow 0 is the only large flow")
    two = carried((0, True, 10**6), (1, True, 9 * 10**5))
    assert two.startswith("Flow 0 carried most, and no other large one sent beside it for long")


def test_a_flow_over_udp_whose_bottleneck_both_ends_show_has_the_lines() -> None:
    """Recorded run pq1: L4S401 named the bottleneck, and the verdict had no line on it."""
    tables = over_udp([12.0] * 40, "quic", flow=0)
    assert verdict_lines(evidence(**tables)) is None
    found = lines(evidence(bottlenecks=bottleneck("l4s"), **tables))
    assert found.limits == "L4S AQM, marking at 400 us of queue delay."
    assert found.sharing.startswith("Flow 0 is the only flow with data, ")
    assert found.fallback.startswith("Nothing to judge: it is part of TCP Prague")
