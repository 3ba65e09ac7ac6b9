"""Shares of overlapping flows."""

import polars as pl
import pytest

from l4strace.derive import coexistence
from tests.support.frames import MS, capture, frame, rounds, stack

FLOWS = frame("flows", flow=[0, 1], client_port=[40001, 40002])
DIRECTIONS = frame("directions", flow=[0, 1], data_ect1=[1000, 0], data_ect0=[0, 1000])


def table(*frames: pl.DataFrame, flows: pl.DataFrame = FLOWS) -> pl.DataFrame:
    return coexistence.table(capture(flows=flows, directions=DIRECTIONS, rounds=stack(*frames)))


def test_share_jain_and_starvation_of_both_sides() -> None:
    result = table(
        rounds(1000, flow=0, acked_bytes=9_000), rounds(1000, flow=1, acked_bytes=81_000)
    )
    first, second = result.rows(named=True)
    assert first["share"] == pytest.approx(0.1)
    assert first["jain"] == pytest.approx(100 / (2 * 82))
    assert first["rate_bps"] == pytest.approx(7.2e6)
    assert first["starved_since_ns"] == 0
    assert second["starved_since_ns"] is None


def test_starvation_begins_when_the_share_falls_for_good() -> None:
    falling = [50_000] * 500 + [2_000] * 500
    result = table(
        rounds(1000, flow=0, acked_bytes=falling), rounds(1000, flow=1, acked_bytes=50_000)
    )
    assert result["starved_since_ns"][0] == pytest.approx(5_000 * MS, abs=1_100 * MS)


def test_a_flow_that_holds_itself_back_is_not_starved() -> None:
    idle = rounds(1000, flow=0, acked_bytes=2_000, sent_bytes=2_000, limited_by="app")
    result = table(idle, rounds(1000, flow=1, acked_bytes=80_000))
    assert result["starved_since_ns"].to_list() == [None, None]


def test_only_the_overlap_counts() -> None:
    late = rounds(500, flow=1, begin_ns=5_000 * MS)
    result = table(rounds(1000, flow=0), late)
    assert result["start_ns"].to_list() == [5_000 * MS] * 2
    assert result["share"].to_list() == pytest.approx([0.5, 0.5], abs=0.02)


def test_other_paths_short_overlaps_and_tiny_flows_make_no_pair() -> None:
    apart = FLOWS.with_columns(server=pl.Series(["10.0.3.2", "192.0.2.9"]))
    assert table(rounds(500, flow=0), rounds(500, flow=1), flows=apart).is_empty()
    assert table(rounds(500, flow=0), rounds(500, flow=1, begin_ns=4_500 * MS)).is_empty()
    assert table(rounds(500, flow=0), rounds(500, flow=1, acked_packets=0)).is_empty()


def test_a_flow_starved_to_a_few_full_packets_does_not_hold_itself_back() -> None:
    """Between its ACKs it has nothing in flight, as if its application paused."""
    few = {"sent_packets": 2, "sent_bytes": 2 * 1448, "acked_packets": 2, "acked_bytes": 2 * 1448}
    starved = rounds(1000, flow=0, limited_by="app", **few)
    result = table(starved, rounds(1000, flow=1, acked_bytes=80_000))
    assert result["starved_since_ns"].to_list() == [0, None]
