"""When numbers were acknowledged, and whether a clock was set, from the offsets that they give."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from l4strace import pipeline
from l4strace.core import _native
from l4strace.ingest import packets
from l4strace.ingest.join import matching
from tests.support.places import FIXTURES

MS = 1_000_000


def judged(offsets: list[int]) -> matching.Match:
    """Acknowledgements 1 ms apart whose packets lie ``offsets`` after their samples."""
    rows = {"packet_ns": [i * MS for i in range(len(offsets))], "apart": offsets}
    return matching._judged(pl.DataFrame(rows, schema_overrides={"apart": pl.Int64}), len(offsets))


def test_a_clock_that_is_set_moves_all_that_follows() -> None:
    assert judged([0] * 250 + [80 * MS] * 150).step_ns == 80 * MS


def test_a_busy_host_delays_samples_and_sets_no_clock() -> None:
    """Two thirds of the samples of a tenth of the run were written 80 ms late."""
    busy = [-80 * MS if i % 3 else 0 for i in range(40)]
    assert judged([0] * 200 + busy + [0] * 160).step_ns == 0


@pytest.mark.parametrize("most", [20_000, 10**9])
def test_the_first_packet_of_a_number_is_found_as_in_the_table_of_packets(most: int) -> None:
    """Of two flows one direction counts, of a third both."""
    path = str(FIXTURES / "misfire" / "misfire.pcap.xz")
    capture = pipeline.read([path], companions=False)
    receivers = [(0, True), (1, False), (3, False), (3, True)]
    counted = pl.DataFrame(
        receivers, schema={"flow": pl.UInt32, "forward": pl.Boolean}, orient="row"
    )
    table = pl.concat(
        packets.batches(capture, columns=("flow", "forward", "ts_ns", "tcp_flags", "ack_raw"))
    )
    acks = (
        table.head(most)
        .filter(pl.col("tcp_flags") & 0x10 > 0)
        .join(counted, on=["flow", "forward"])
    )
    first = acks.group_by("flow", snd_una="ack_raw").agg(packet_ns=pl.col("ts_ns").min())
    chance = pl.DataFrame(
        {"flow": [0, 1], "snd_una": [1, 2]}, schema=first.drop("packet_ns").schema
    )
    wanted = pl.concat([first.drop("packet_ns").sort("flow", "snd_una").gather_every(2), chance])
    starts = packets.second_pass(capture, 0).starts
    found = pl.DataFrame(_native.first_acks(path, starts, receivers, wanted, most))
    expected = first.join(wanted, on=["flow", "snd_una"])
    assert expected.height > 100
    assert_frame_equal(found, expected, check_row_order=False)


def test_a_log_is_matched_with_the_packets_that_acknowledge_its_sockets() -> None:
    """With the packets that the sockets send, next to nothing matches."""
    run = FIXTURES / "accecn-clean"
    inputs = [str(run / name) for name in ("sender.pcap.xz", "sender.kernel.ndjson.zst")]
    capture = pipeline.read(inputs, companions=False)
    assert capture.sources["clock_residual_ns"].drop_nulls().len() == 1
    assert capture.kernel["flow"].unique().to_list() == [0]


def test_times_of_packets_are_on_the_clock_of_the_run() -> None:
    capture = pipeline.read([str(FIXTURES / "misfire" / "misfire.pcap.xz")], companions=False)
    flow = {"flow": pl.UInt32, "forward": pl.Boolean}
    found = pl.DataFrame([(1, True)], schema=flow, orient="row")
    table = pl.concat(packets.batches(capture, columns=("flow", "forward", "ts_ns", "ack_raw")))
    back = table.filter((pl.col("flow") == 1) & ~pl.col("forward"))
    logged = back.select("flow", snd_una="ack_raw")
    own = matching._first_packets(capture, found, logged)
    assert own["packet_ns"].max() > 0
    later = capture.sources.with_columns(clock_offset_ns=pl.lit(5000, dtype=pl.Int64))
    moved = matching._first_packets(replace(capture, sources=later), found, logged)
    both = own.join(moved, on=["flow", "snd_una"])
    assert both.height == own.height
    assert (both["packet_ns_right"] - both["packet_ns"]).unique().to_list() == [5000]
