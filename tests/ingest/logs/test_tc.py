"""Polls of `tc -s qdisc`: text and JSON, with times in front of and behind them."""

import json
from array import array
from base64 import b64decode
from pathlib import Path

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.errors import InputError
from l4strace.ingest.logs import open_log
from l4strace.model import Analysis
from l4strace.output import text
from l4strace.page.build import build
from l4strace.page.case import Case
from l4strace.redact.mask import Mask
from l4strace.redact.output import Folder
from l4strace.redact.run import redact
from tests.support import frames

TBF = (
    "qdisc tbf 8002: {dev}root refcnt 3 rate 20Mbit burst 5Kb/1 lat 22.5ms\n"
    " Sent {sent} bytes {packets} pkt (dropped {drops}, overlimits 3117 requeues 0)\n"
    " backlog {backlog} 35p requeues 0\n"
)
DUALPI2 = (
    "qdisc dualpi2 1: dev eth0 root refcnt 2 limit 10000p target 15ms step_thresh 1ms\n"
    " Sent 1000000 bytes 700 pkt (dropped 3, overlimits 0 requeues 0)\n"
    " backlog 3Kb 2p requeues 0\n"
    "prob 0.012500 delay_c 14000us delay_l 350us\n"
    "pkts_in_c 500 pkts_in_l 200 maxq 30\n"
    "ecn_mark 40 step_mark{plural} 8\n"
    "credit -12000 (L)\n"
)
MAINLINE = {
    "kind": "dualpi2", "handle": "1:", "dev": "eth0", "root": True, "options": {"limit": 10000},
    "bytes": 1000000, "packets": 700, "drops": 3, "overlimits": 0, "requeues": 0, "backlog": 3072,
    "qlen": 2, "prob": 0.0125, "delay-c": 14000, "delay-l": 350, "pkts-in-c": 500, "ecn-mark": 40,
    "step-mark": 8,
}  # fmt: skip


def tbf(sent: int, packets: int, drops: int, backlog: str, dev: str = "") -> str:
    return TBF.format(sent=sent, packets=packets, drops=drops, backlog=backlog, dev=dev)


def read(folder: Path, content: str) -> pl.DataFrame:
    path = folder / "run.tc.txt"
    path.write_text(content)
    return open_log.read(str(path)).qdiscs


def test_a_loop_with_times_in_front(tmp_path: Path) -> None:
    first = "1795694323.5\n" + tbf(1_000_000, 700, 5, "52990b")
    second = "1795694324.5\n" + tbf(3_500_000, 2400, 9, "25000b")
    rows = read(tmp_path, first + second)
    assert rows["ts_ns"].to_list() == [1795694323500000000, 1795694324500000000]
    assert rows["interface"].to_list() == [None, None]
    assert rows["drops"].to_list() == [5, 9]
    assert rows["backlog_bytes"].to_list() == [52990, 25000]
    # 2.5 MB in a second; 25 kB at that rate.
    assert rows["rate_bps"].to_list() == [None, 20e6]
    assert rows["delay_us"].to_list() == [None, 10_000.0]


def test_times_behind_the_polls_belong_to_what_precedes_them(tmp_path: Path) -> None:
    polls = [tbf(1_000_000 * n, 700 * n, 0, "0b", "dev eth0 ") for n in (1, 2)]
    rows = read(tmp_path, f"{polls[0]}1795694323\n{polls[1]}1795694324\n")
    assert rows["sent_packets"].to_list() == [700, 1400]
    assert rows["ts_ns"].to_list() == [1795694323 * 10**9, 1795694324 * 10**9]
    assert rows["interface"].to_list() == ["eth0", "eth0"]
    assert rows["delay_us"].to_list() == [0.0, 0.0]


@pytest.mark.parametrize(
    "poll",
    [
        DUALPI2.format(plural="s"),
        DUALPI2.format(plural=""),
        json.dumps([MAINLINE]),
        json.dumps([MAINLINE], indent=4),
        json.dumps([]) + "\n" + json.dumps([MAINLINE]),
    ],
    ids=["L4STeam", "mainline", "JSON", "pretty", "two interfaces"],
)
def test_dualpi2_states_its_probability_delays_and_marks(tmp_path: Path, poll: str) -> None:
    (row,) = read(tmp_path, f"2026-11-26T12:00:00.5\n{poll}\n").to_dicts()
    assert (row["interface"], row["kind"], row["handle"]) == ("eth0", "dualpi2", "1:")
    assert (row["probability"], row["delay_c_us"], row["delay_l_us"]) == (0.0125, 14000.0, 350.0)
    assert (row["marks"], row["step_marks"], row["drops"]) == (40, 8, 3)
    assert (row["backlog_bytes"], row["backlog_packets"]) == (3072, 2)


def test_a_log_without_times_says_how_to_record_them(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"without a time; record it with: while sleep"):
        read(tmp_path, tbf(1, 1, 0, "0b") * 3)


def test_torn_and_odd_polls_lose_themselves_alone(tmp_path: Path) -> None:
    whole = json.dumps([MAINLINE])
    odd = json.dumps([{"kind": "fq", "handle": 3, "bytes": "many", "drops": True, "qlen": -1}, 7])
    times = "1795694323\n", "1795694324\n", "1795694325\n"
    rows = read(tmp_path, f"{times[0]}{whole}\n{times[1]}{odd}\n{times[2]}{whole[:90]}")
    assert rows["kind"].to_list() == ["dualpi2", "fq"]
    assert rows.row(1, named=True)["sent_bytes"] is None
    assert rows.row(1, named=True)["backlog_packets"] is None


def test_terminal_and_page_show_the_queue_of_the_qdisc(tmp_path: Path) -> None:
    path = tmp_path / "run.tc.txt"
    polls = (tbf(2_500_000 * n, 2000 * n, 20 * n, "25000b", "dev eth0 ") for n in range(1, 5))
    path.write_text("".join(f"{1795694320 + n}\n{poll}" for n, poll in enumerate(polls)))
    evidence = pipeline.derive(pipeline.read([str(path)]), strict=True)
    shown = " ".join(text.render(evidence, Analysis(())).split())
    said = "Qdisc tbf 8002 of eth0: 60 of 6,060 packets dropped (0.99 %); backlog of 10 ms"
    assert said in shown
    (chart,) = build(Case(evidence, Analysis(())))["qdiscs"].charts
    assert chart.caption.startswith(said)
    drawn = chart.spec["data"][0]["y"]
    assert drawn["dtype"] == "f4"
    assert list(array("f", b64decode(drawn["bdata"]))) == [10.0, 10.0, 10.0]


def test_pages_without_such_a_log_have_no_such_chart() -> None:
    assert build(Case(frames.evidence(), Analysis(())))["qdiscs"].charts == ()


def test_redaction_keeps_numbers_and_renames_interfaces(tmp_path: Path) -> None:
    path = tmp_path / "run.tc.txt"
    secret = {**MAINLINE, "dev": "acme-hq0"}
    path.write_text(
        "1795694323.5\n" + tbf(1_000_000, 700, 5, "52990b", "dev acme-hq0 ")
        + "1795694324.5\n" + json.dumps([secret]) + "\n"
    )  # fmt: skip
    redact([str(path)], Folder(str(tmp_path / "out")), Mask(bytes(32)))
    copy = tmp_path / "out" / "run.tc.txt"
    assert "acme" not in copy.read_text()
    before, after = (open_log.read(str(one)).qdiscs.drop("interface") for one in (path, copy))
    assert before.equals(after)
