"""Datagrams of a flow against what the tables of the whole run count of it."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.evidence import Capture, traffic
from l4strace.ingest import datagrams
from l4strace.ingest.datagrams import Span
from tests.support.places import FIXTURES

CODEPOINTS = {1: "ect1", 2: "ect0", 3: "ce"}
CAPTURES = sorted(FIXTURES.glob("user-space/**/*.pcap*"))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.parent.name + path.name)
def test_every_datagram_has_its_place(path):
    run = pipeline.read([str(path)])
    for row in traffic(run).directions.iter_rows(named=True):
        rows = whole(run, row)
        own = rows.filter(forward=row["forward"])
        assert own.height == row["packets"]
        # The payload of reports does not count as data of their direction.
        if row["data_packets"] == row["packets"]:
            assert own["bytes"].sum() == row["payload_bytes"]
        assert own["order"].to_list() == list(range(own.height))
        assert rows["frame"].is_sorted()
        for codepoint, column in CODEPOINTS.items():
            assert own.filter(ip_ecn=codepoint).height == row[column], column


def whole(run: Capture, row: dict[str, Any]) -> pl.DataFrame:
    (rows,) = datagrams.within(run, row["source"], [Span(row["flow"], 0, 1 << 62)], 1 << 20)
    return rows


def test_a_part_of_the_time_and_the_first_of_it():
    run = pipeline.read([str(CAPTURES[0])])
    row = traffic(run).directions.row(0, named=True)
    every = whole(run, row)
    middle = every["ts_ns"][every.height // 2]
    spans = [Span(row["flow"], middle, 1 << 62), Span(row["flow"], 0, middle)]
    late, early = datagrams.within(run, row["source"], spans, 10)
    expected = every.filter(pl.col("ts_ns") >= middle)["frame"][:10].to_list()
    assert late["frame"].to_list() == expected
    assert early["frame"].to_list() == every["frame"][:10].to_list()


def test_a_frame_has_its_time():
    run = pipeline.read([str(CAPTURES[0])])
    row = traffic(run).directions.row(0, named=True)
    frame, ns = whole(run, row).select("frame", "ts_ns").row(20)
    assert datagrams.moments(run, row["source"], {row["flow"]}, {frame}) == {frame: ns}
    assert datagrams.moments(run, row["source"], {row["flow"]}, set()) == {}
