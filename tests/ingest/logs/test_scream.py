"""SCReAM's CSV: 17 names, and rows of up to 20 values."""

from __future__ import annotations

from pathlib import Path

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
