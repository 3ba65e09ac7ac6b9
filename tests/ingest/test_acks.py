"""The `acks` table: what ACKs change sums up to the directions, and samples stand beside them."""

from pathlib import Path

import polars as pl
import pytest

import l4strace
from l4strace import pipeline
from l4strace.evidence import Capture
from l4strace.ingest import acks, packets
from l4strace.ingest.packets import Stretch
from l4strace.schema import TABLES
from tests.support.places import FIXTURES

RUNS = (
    "accecn-acks-lost/sender.pcap.xz",
    "accecn-acks-lost/receiver.pcap.xz",
    "accecn-all-ce/sender.pcap.xz",
    "accecn-option-stripped/sender.pcap.xz",
    "dctcp/dctcp.pcapng.xz",
    "misfire/misfire.pcap.xz",
    "reports/policer-snd.pcap.xz",
    "reports/policer-rcv.pcap.xz",
    "reports/repairs-without-sack.pcap.xz",
)
DIRECTION = ("source", "flow", "forward")


def summed(capture: Capture, table: pl.DataFrame, *sums: pl.Expr) -> pl.DataFrame:
    """`directions` beside the sums over rows of ``table``."""
    found = table.group_by(DIRECTION).agg(sums)
    return capture.directions.join(found, on=DIRECTION, how="left", suffix="_sum")


@pytest.mark.parametrize("run", RUNS)
def test_steps_sum_up_to_the_directions(run: str) -> None:
    capture = pipeline.read([str(FIXTURES / run)])
    table = pl.concat(acks.batches(capture))
    assert table.schema == TABLES["acks"].schema
    bounds = pl.col("acked_bytes", "ce_lo", "ce_hi", "ce_best", "ceb_bytes").sum()
    both = summed(capture, table, bounds, pl.col("rtt_us").count().alias("rtts"))
    marked = both.filter(pl.col("ce_fed_back_lo").is_not_null())
    assert both["acked_bytes"].equals(both["acked_bytes_sum"].cast(pl.UInt64).alias("acked_bytes"))
    assert both["rtt_samples"].to_list() == both["rtts"].to_list()
    for bound in ("lo", "best"):
        assert marked[f"ce_fed_back_{bound}"].to_list() == marked[f"ce_{bound}"].to_list()
    assert (marked["ce_fed_back_hi"] >= marked["ce_hi"]).all()
    counted = both.filter(pl.col("ceb_bytes").is_not_null())
    assert counted["ceb_bytes"].to_list() == counted["ceb_bytes_sum"].to_list()


@pytest.mark.parametrize("run", RUNS)
def test_each_packet_is_what_the_direction_counts(run: str) -> None:
    capture = pipeline.read([str(FIXTURES / run)])
    table = pl.concat(packets.batches(capture))
    counts = {"retransmit": "retransmits", "out of order": "out_of_order", "copy": "duplicates"}
    both = summed(
        capture, table, *((pl.col("seen") == seen).sum().alias(seen) for seen in counts)
    ).filter(pl.col("super_packets").fill_null(0) == 0)
    for seen, count in counts.items():
        assert both[count].fill_null(0).to_list() == both[seen].to_list()


def test_a_stretch_is_that_part_of_the_whole() -> None:
    capture = pipeline.read([str(FIXTURES / "misfire/misfire.pcap.xz")])
    whole = pl.concat(acks.batches(capture))
    start, end = (whole["ts_ns"][0] + s * 1_000_000_000 for s in (2, 3))
    inside = whole.filter(pl.col("ts_ns").is_between(start, end), flow=1)
    part = pl.concat(acks.batches(capture, stretch=Stretch(frozenset({1}), (start, end))))
    assert 0 < part.height < whole.height // 10
    assert part.equals(inside)


def test_the_sample_beside_an_ack_is_that_of_its_number() -> None:
    """And what the kernel counts in flight is what the packets show then."""
    run = l4strace.open(FIXTURES / "misfire/misfire.pcap.xz")
    table = run.acks.filter(pl.col("kernel_exact"), flow=1, kernel_event="ack").collect()
    assert table.height > 1000
    late_us = (table["kernel_ns"] - table["ts_ns"]) / 1000
    assert 0 <= late_us.quantile(0.05) <= late_us.quantile(0.95) < 2000
    known = table.filter(pl.col("packets_out").is_not_null() & (pl.col("sack").is_null()))
    apart = (known["packets_out"].cast(pl.Int64) - known["inflight_packets"]).abs()
    assert (apart <= 1).mean() > 0.98


def test_without_its_own_sample_an_ack_has_the_last_one_before() -> None:
    kernel = TABLES["kernel"].conform(
        pl.DataFrame(
            {
                "flow": [0, 0, 0],
                "forward": [True] * 3,
                "ts_ns": [5, 10, 40],
                "event": ["poll", "poll", "ack"],
                "snd_una": [None, None, 700],
                "snd_cwnd": [1, 2, 3],
            }
        )
    )
    table = pl.DataFrame(
        {"frame": [1, 2, 3, 4], "ts_ns": [1, 20, 41, 30], "ack_raw": [100, 200, 300, 700]},
        schema_overrides={"ack_raw": pl.UInt32},
    ).with_columns(flow=pl.lit(0, pl.UInt32), forward=True)
    got = acks.beside(table, acks.samples(kernel))
    assert got["snd_cwnd"].to_list() == [None, 2, 3, 3]
    assert got["kernel_exact"].to_list() == [None, False, False, True]


def test_a_run_without_packets_has_no_acks(tmp_path: Path) -> None:
    empty = tmp_path / "empty.pcap"
    empty.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))
    run = l4strace.open(empty)
    assert run.acks.collect().schema == TABLES["acks"].schema
    assert run.packets.collect().is_empty()
