"""SCReAM's CSV files: 17 names and rows of up to 20 values, and 5 values without a name."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from l4strace.errors import InputError
from l4strace.ingest.logs import open_log
from l4strace.ingest.logs.samples import Log

NAMES = '"Time [s]","Estimated queue delay [s]","RTT [s]","Congestion window [byte]"' + ',"x"' * 13


def row(time: str, acked: int, marked: int, more: str = ",0,1000000,0.000, 1") -> str:
    return f"{time},0.0000,0.0113, 37500,6372,0,0,0,0,{acked},{marked},0,0,0,0,0{more}"


def read(path: Path, *rows: str) -> Log:
    path.write_text("\n".join([NAMES, *rows]))
    return open_log.read(str(path))


def test_each_acknowledged_packet_is_a_sample(tmp_path: Path) -> None:
    log = read(
        tmp_path / "out",
        row("0.0132", 1212, 0), row("0.0132", 1212, 1212, ",0,1"), row("0.0760", 312, 0, ",1"),
        row("0.08", 1212, 0, ""), "0.09,0.0",
    )  # fmt: skip
    assert (log.kind, log.transport, log.records) == ("scream", "rtp", 3)
    samples = log.samples
    assert samples["ts_ns"].to_list() == [13_200_000, 13_200_000, 76_000_000]
    assert samples["snd_cwnd"].to_list() == [30] * 3
    assert samples["packets_out"].to_list() == [5] * 3
    assert samples["rs_rtt_us"].to_list() == [11_300] * 3
    assert samples["delivered"].to_list() == [1, 2, 3]
    assert samples["delivered_ce"].to_list() == [0, 1, 1]
    # Rows of one feedback packet have one time.
    assert log.datagrams["ts_ns"].to_list() == [13_200_000, 76_000_000]
    assert log.datagrams["along"].to_list() == [False, False]
    assert [(name, lines) for name, lines, *_ in log.stats] == [("lines_unread", 2)]


def transmitted(path: Path, *rows: str) -> Log:
    path.write_text("\n".join(rows))
    return open_log.read(str(path))


def test_times_without_names_are_those_of_each_packet(tmp_path: Path) -> None:
    """When feedback came, the number, when it left, when it arrived, and the difference."""
    log = transmitted(
        tmp_path / "out",
        "0.0132, 0, 0.0019, 0.5540, 0.5520", "0.0132, 1, 0.0020, 0.5541, 0.5521",
        "0.0760, 2, 0.0218, -0.5262, -0.5480",
        # A difference that is none, a word, a row that breaks off, and a time of 3 million years.
        "0.0800, 3, 0.0300, 0.5540, 0.9000", "0.0800, 4, x, 0.5540, 0.5520", "0.0800, 5, 0.03",
        "0.0800, 6, 99999999999999, 99999999999999, 0.0000",
    )  # fmt: skip
    assert (log.kind, log.transport, log.records) == ("scream", "rtp", 3)
    assert log.samples["ts_ns"].to_list() == [13_200_000, 13_200_000, 76_000_000]
    assert log.samples["rs_rtt_us"].to_list() == [11_300, 11_200, 54_200]
    assert log.samples["delivered"].to_list() == [1, 2, 3]
    assert log.samples["delivered_ce"].null_count() == 3
    left = log.datagrams.filter("along")["ts_ns"].to_list()
    assert left == [1_900_000, 2_000_000, 21_800_000]
    assert log.datagrams.filter(~pl.col("along"))["ts_ns"].to_list() == [13_200_000, 76_000_000]
    assert [(name, lines) for name, lines, *_ in log.stats] == [("lines_unread", 4)]


@pytest.mark.parametrize("first", ["0.0132,0,0.0019", "1, 2, 3, 4, 5", "0.0132, 0, 0.0019, x, 1"])
def test_other_numbers_without_names_are_no_log(tmp_path: Path, first: str) -> None:
    with pytest.raises(InputError, match="neither a capture nor a log"):
        transmitted(tmp_path / "out", first, "0.0132, 0, 0.0019, 0.5540, 0.5520")


BAD = ("", "\x00,\x00", row("1e400", 1, 1), row("9" * 16, 1, 1))


@pytest.mark.parametrize("bad", BAD)
def test_nothing_to_read_is_one_line(tmp_path: Path, bad: str) -> None:
    with pytest.raises(InputError, match="SCReAM without a row") as caught:
        read(tmp_path / "out", bad)
    assert "\n" not in str(caught.value)


def test_odd_numbers_become_null(tmp_path: Path) -> None:
    log = read(tmp_path / "out", row("0.1", -5, 9**13).replace("37500", "-1"))
    assert log.samples["snd_cwnd"].to_list() == [None]


def test_an_rtt_of_many_years_costs_that_sample_alone(tmp_path: Path) -> None:
    odd = row("0.1", 1, 1).split(",")
    odd[2] = "9" * 15
    log = read(tmp_path / "out", ",".join(odd), row("0.2", 2, 1))
    assert log.samples["rs_rtt_us"].is_null().to_list() == [True, False]
