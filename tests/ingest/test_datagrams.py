"""Datagrams of a flow against what the tables of the whole run count of it."""

from __future__ import annotations

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.evidence import traffic
from l4strace.ingest import datagrams
from tests.support.places import FIXTURES

CODEPOINTS = {1: "ect1", 2: "ect0", 3: "ce"}
CAPTURES = sorted(FIXTURES.glob("user-space/**/*.pcap*"))


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: path.parent.name + path.name)
def test_every_datagram_has_its_place(path):
    run = pipeline.read([str(path)])
    for row in traffic(run).directions.iter_rows(named=True):
        rows = datagrams.of_flow(run, row["source"], row["flow"], (0, 1 << 62), 1 << 20)
        own = rows.filter(forward=row["forward"])
        assert own.height == row["packets"]
        # The payload of reports does not count as data of their direction.
        if row["data_packets"] == row["packets"]:
            assert own["payload_len"].sum() == row["payload_bytes"]
        assert own["seq"].to_list() == (own["payload_len"].cum_sum() - own["payload_len"]).to_list()
        assert rows["frame"].is_sorted()
        for codepoint, column in CODEPOINTS.items():
            assert own.filter(ip_ecn=codepoint).height == row[column], column


def test_a_part_of_the_time_and_the_first_of_it():
    run = pipeline.read([str(CAPTURES[0])])
    row = traffic(run).directions.row(0, named=True)
    whole = datagrams.of_flow(run, row["source"], row["flow"], (0, 1 << 62), 1 << 20)
    middle = whole["ts_ns"][whole.height // 2]
    late = datagrams.of_flow(run, row["source"], row["flow"], (middle, 1 << 62), 10)
    assert (
        late["frame"].to_list() == whole.filter(pl.col("ts_ns") >= middle)["frame"][:10].to_list()
    )
