"""Polled sockets: `ss -tin` logs and flent files."""

from pathlib import Path

import polars as pl
import pytest

from l4strace.ingest.join import attach
from l4strace.ingest.logs import poll_times, ss
from l4strace.ingest.logs.samples import Log
from tests.support import frames

SOCKET = "ESTAB 0      946324 10.0.1.2:40001 10.0.3.2:5201 timer:(on,024ms,0)\n"
INFO = (
    "\t ts sack ecn ecnseen prague wscale:7,7 rto:211 rtt:10.152/0.164 mss:1448 cwnd:7 ssthresh:6 "
    "prague:(alpha:{alpha}%,ai_ack_increase:17%,max_burst:1,round:500,rtt_indep:rate) "
    "pacing_rate 8144272bps delivered:{n} {ce} unacked:7 rcv_ssthresh:498552 minrtt:10.03\n"
)


def info(alpha: float, delivered: int, ce: int) -> str:
    return INFO.format(alpha=alpha, n=delivered, ce=f"delivered_ce:{ce}" if ce else "")


def read(folder: Path, text: str) -> pl.DataFrame:
    path = folder / "ss.txt"
    path.write_text(text)
    return attach.load_logs(frames.capture(), [str(path)]).kernel


def polls(path: Path) -> list[str]:
    log = Log(str(path), "ss")
    return [text for _, text in poll_times.whole_polls(str(path), log, ss.POLL, ss._complete)]


def test_one_poll_gives_one_sample(tmp_path: Path) -> None:
    row = read(tmp_path, "# t=1795252715.257886\n" + SOCKET + info(100, 28, 0)).row(0, named=True)
    assert row["ts_ns"] == 1795252715257886000
    assert (row["snd_cwnd"], row["ssthresh"], row["cc"]) == (7, 6, "prague")
    assert (row["srtt_us"], row["mdev_us"], row["min_rtt_us"]) == (10152.0, 164.0, 10030)
    assert (row["delivered"], row["delivered_ce"], row["packets_out"]) == (28, 0, 7)
    assert (row["pacing_rate_bps"], row["round"], row["alpha"]) == (8144272.0, 500, 1.0)
    assert '"ss":"ts sack' in row["extra"]


def test_what_is_left_out_is_zero_and_what_is_no_number_is_unknown(tmp_path: Path) -> None:
    poll = "# t=1795252715.257886\n" + SOCKET + info(100, 28, 0)
    absent = read(tmp_path, poll.replace("unacked:7", ""))
    assert absent.select("delivered_ce", "packets_out").row(0) == (0, 0)
    damaged = poll.replace("unacked:7", "unacked:? delivered_ce:True")
    assert read(tmp_path, damaged).select("delivered_ce", "packets_out").row(0) == (None, None)


@pytest.mark.parametrize(
    "text",
    [
        "1795252715.5\n" + SOCKET + info(100, 9, 0),
        "2026-11-21T09:18:35.5+00:00\n" + SOCKET + info(100, 9, 0),
        "2026-11-21 10:18:35,500000000+01:00\n" + SOCKET + info(100, 9, 0),
        f"1795252715.5 {SOCKET}1795252715.5 {info(100, 9, 0)}",
        "1795252715.500000 " + SOCKET.strip() + " " + info(100, 9, 0).strip() + "\n",
    ],
)
def test_ways_to_write_the_time(tmp_path: Path, text: str) -> None:
    kernel = read(tmp_path, text)
    assert kernel["ts_ns"].to_list() == [1795252715_500_000_000]
    assert kernel["snd_cwnd"].to_list() == [7]


def test_the_sixteenfold_alpha_is_seen_through_its_maximum(tmp_path: Path) -> None:
    text = (
        "1795252715.5\n" + SOCKET + info(1600, 9, 9) + "1795252716.5\n" + SOCKET + info(80, 99, 9)
    )
    kernel = read(tmp_path, text)
    assert kernel["alpha"].to_list() == [1.0, pytest.approx(0.05, rel=1e-4)]


@pytest.mark.parametrize(("shown", "alpha"), [(80.0, 0.05), (5.0, 0.05)])
def test_the_sixteenfold_alpha_is_seen_through_the_marks(
    tmp_path: Path, shown: float, alpha: float
) -> None:
    polls = [
        f"{1795252715 + i}.5\n{SOCKET}{info(shown, 1000 * i + 1, 50 * i)}" for i in range(1, 20)
    ]
    assert read(tmp_path, "".join(polls))["alpha"].median() == pytest.approx(alpha, rel=1e-3)


@pytest.mark.parametrize(
    ("stamp", "state"),
    [
        ("2026-11-21T09:18:{:02d}.5+00:00", "tcp   FIN-WAIT-1"),
        ("1795252{:03d}.5", "ESTAB"),
        ("", ""),
    ],
)
def test_a_long_log_is_read_in_bounded_memory_and_loses_no_socket(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stamp: str, state: str
) -> None:
    """Blocks were cut before `ESTAB`, `#` and `1` only: others were held to the end."""
    monkeypatch.setattr(poll_times, "BATCH_CHARS", 1000)
    lines = SOCKET.replace("ESTAB", state or "ESTAB") + info(5, 9, 1)
    if stamp:
        text = "".join(f"{stamp.format(10 + i)}\n{lines}" for i in range(40))
    else:  # moreutils' `ts` before every line
        text = "".join(
            f"{1795252010 + i}.5 {line}\n" for i in range(40) for line in lines.splitlines()
        )
    path = tmp_path / "ss.txt"
    path.write_text(text)
    blocks = polls(path)
    assert max(map(len, blocks)) < 1000 + 700
    assert "".join(blocks) == text
    samples = ss.read(str(path)).samples
    assert samples.height == 40
    assert samples["ts_ns"].diff().drop_nulls().unique().to_list() == [1_000_000_000]


def test_text_without_sockets_is_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(poll_times, "BATCH_CHARS", 1000)
    path = tmp_path / "ss.txt"
    path.write_text("no socket here\n" * 1000)
    assert max(map(len, polls(path))) < 1000 + 700


@pytest.mark.parametrize("stamp", ["", "1795252717.330000\n", "1795252717.330000 ", "no socket\n"])
def test_the_last_socket_is_found_wherever_the_search_begins(
    monkeypatch: pytest.MonkeyPatch, stamp: str
) -> None:
    texts = ["", *(f"{stamp}{SOCKET}{info(5, 9, 1)}" * count for count in (1, 2, 5)), "x\n" * 99]
    for text in texts:
        monkeypatch.setattr(ss, "LAST_CHARS", 1 << 20)
        whole = ss._complete(text)
        for size in (1, 7, 50, 100, 333, 400):
            monkeypatch.setattr(ss, "LAST_CHARS", size)
            assert ss._complete(text) == whole, (text, size)
