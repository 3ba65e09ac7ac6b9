"""What captures of both ends show of the queue of a flow over UDP whose feedback is encrypted."""

from dataclasses import replace

import polars as pl
import pytest

from l4strace.bottleneck import datagrams, table
from l4strace.derive.queue_features import L4S_MARK_US
from l4strace.evidence import Evidence
from tests.support.ends import path, recorded, sent


def kinds(of: Evidence) -> list[tuple[str, str]]:
    return of.bottlenecks.select("kind", "reason").rows()


def test_marks_of_quic_that_begin_early_are_those_of_an_l4s_aqm() -> None:
    found = recorded("pq1")
    ((kind, reason),) = kinds(found)
    assert kind == "l4s"
    assert reason.startswith("Marks begin at ")
    assert found.bottlenecks["marking_delay_us"][0] < L4S_MARK_US
    assert found.signs["sign"].to_list() == ["marks begin early", "its packets are ECT(1)"]


@pytest.mark.parametrize("end", ["a", "b"])
def test_one_end_alone_shows_no_delay(end: str) -> None:
    assert kinds(recorded("pq1", end)) == []


@pytest.mark.parametrize("run", ["pqbleach", "qgbleach"])
def test_what_cannot_be_marked_shows_no_queue(run: str) -> None:
    assert kinds(recorded(run)) == []


def quic(version: str | None, marks: int, *, at_us: float = 900.0, **more: int) -> Evidence:
    """A connection of ECT(1) packets, of which ``marks`` arrive as CE, from this delay on."""
    counts = {"ect1_to_ce": marks, "ect1_to_ect1": 1000 - marks, **more}
    made = sent([1, 1000], paths=path(forward=True, marked_owd_p10_us=at_us, **counts))
    flows = made.udp_flows.with_columns(version=pl.lit(version))
    directions = made.udp_directions.with_columns(data_ect1=pl.lit(1000, pl.UInt64))
    return replace(made, udp_flows=flows, udp_directions=directions)


def test_only_a_handshake_shows_that_the_smallest_delay_holds_no_queue() -> None:
    assert [row["begun"] for row in datagrams.measured(quic("1", 50))] == [True]
    assert [row["begun"] for row in datagrams.measured(quic(None, 50))] == [False]
    (row,) = table.bottlenecks(quic(None, 50)).to_dicts()
    assert (row["kind"], row["marking_delay_us"]) == ("unknown", None)
    assert "the smallest delay may hold a queue" in row["reason"]


def test_without_marks_nothing_is_judged() -> None:
    assert datagrams.measured(quic("1", 0)) == []
    assert datagrams.measured(quic("1", 0, not_ect_to_ce=50)) == [], "no AQM marks Not-ECT"


@pytest.mark.parametrize(("marks", "kind"), [(2, "unknown"), (3, "l4s")])
def test_few_marks_name_no_kind(marks: int, kind: str) -> None:
    assert table.bottlenecks(quic("1", marks))["kind"].to_list() == [kind]


def test_marks_that_begin_late_may_be_those_of_jitter() -> None:
    (row,) = table.bottlenecks(quic("1", 50, at_us=17_000.0)).to_dicts()
    assert row["kind"] == "unknown"
    assert row["reason"].endswith("and no feedback shows the jitter of the path.")
