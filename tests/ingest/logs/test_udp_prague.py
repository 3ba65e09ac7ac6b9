"""UDP Prague's own logs: lines of packets, and reports in JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from l4strace.errors import InputError
from l4strace.ingest.logs import open_log
from l4strace.ingest.logs.samples import Log

SENDER = """\
UDP Prague sender connecting to 10.9.0.2 on port 8080 with max packet size 1400 bytes.
s: time, timestamp, echoed_timestamp, time_diff, seqnr, packet_size,,,,, pacing_rate, packet_window
s: 158, 158, 0, 157, 1, 156,,,,, 12135, 90, 1, 0, 0, -157
NORMAL_ACK_r: 10842, 636357, 158, 636356, 1, 26, 1, 0, 0, 0,,,,, 0, 1, 2171
s: 13073, 13073, 638587, 12915, 2, 506,,,,, 41715, 2, 1, 0, 0, -60
NORMAL_ACK_r: 23647, 649392, 13073, 13035, 2, 26, 2, 1, -1, 1,,,,, 3, 1, 1555
RFC8888_ACK_r: 30000, 3, 2, 5, 3, 11, 4, 2, 0, 0,,,,, 5, 1, 9
NORMAL_ACK_r: 30001, 3, torn"""
RECEIVER = """\
UDP Prague receiver listening at 0.0.0.0 on port 8080 with max packet size 1400 bytes.
r: 636350, 158, 0, 157, 1, 156
s: 636357, 636357, 158, 636356, 1, 26, 1, 0, 0, 0
"""


def read(path: Path, text: str) -> Log:
    path.write_text(text)
    return open_log.read(str(path))


def test_a_sender_states_window_rate_and_feedback(tmp_path: Path) -> None:
    log = read(tmp_path / "out.txt", SENDER)
    assert (log.kind, log.transport, log.records) == ("udp-prague", "udp-prague", 5)
    rows = log.samples.to_dicts()
    assert [row["ts_ns"] for row in rows] == [
        158_000,
        10_842_000,
        13_073_000,
        23_647_000,
        30_000_000,
    ]
    assert (rows[0]["snd_cwnd"], rows[0]["pacing_rate_bps"]) == (90, 97_080.0)
    assert (rows[1]["rs_rtt_us"], rows[1]["delivered"], rows[1]["ecn_state"]) == (10_684, 1, None)
    assert (rows[3]["delivered_ce"], rows[3]["lost_packets"], rows[3]["packets_out"]) == (
        1,
        None,
        3,
    )
    assert (rows[3]["ecn_state"], rows[3]["ecn_trigger"]) == ("failed", "error_L4S")
    assert (rows[4]["delivered"], rows[4]["delivered_ce"], rows[4]["rs_rtt_us"]) == (4, 2, None)
    assert {(row["saddr"], row["sport"], row["daddr"], row["dport"]) for row in rows} == {
        (None, None, "10.9.0.2", 8080)
    }
    assert log.datagrams["along"].to_list() == [True, False, True, False, False]
    assert log.datagrams["bytes"].to_list() == [156, 26, 506, 26, None]
    assert [(name, lines) for name, lines, *_ in log.stats] == [("lines_unread", 1)]


def test_a_receivers_rows_are_about_the_sender_at_its_other_end(tmp_path: Path) -> None:
    log = read(tmp_path / "out.txt", RECEIVER)
    (row,) = log.samples.to_dicts()
    assert (row["delivered"], row["delivered_ce"], row["daddr"], row["dport"]) == (1, 0, None, 8080)
    assert log.datagrams["along"].to_list() == [True, False]


def test_a_receiver_of_block_acks_counts_packets_alone(tmp_path: Path) -> None:
    acks = "s: 342010, 342009, 1, 9, 1, 1, "
    lines = ["r: 342000, 171, 0, 170, 1, 156", acks, "r: 5, 6, 7, 8, 2, 506"]
    log = read(tmp_path / "out.txt", RECEIVER.splitlines()[0] + "\n" + "\n".join(lines) + "\n")
    assert log.samples["delivered"].to_list() == [2, 1]
    assert log.samples["delivered_ce"].null_count() == 2


def test_times_of_32_bits_wrap(tmp_path: Path) -> None:
    head = SENDER.splitlines()[0]
    times = [2**31 - 500, -(2**31) + 500, -1000, 200, 2**31 - 1]
    lines = [f"s: {us}, {us}, 0, 1, 1, 156,,,,, 12135, 90, 1, 0, 0, -1" for us in times]
    log = read(tmp_path / "out.txt", "\n".join([head, *lines]))
    steps = log.samples["ts_ns"].diff().drop_nulls().to_list()
    assert steps == [1_000_000, (2**31 - 1500) * 1000, 1_200_000, (2**31 - 201) * 1000]


def report(us: int, **values: object) -> str:
    fields = {"name": "s", "time": us, "time_since_start": 1, "sent_rate": 1.5, "rcvd_rate": 1.5}
    fields |= {"rtt": "10.500", "mark_prob": "1", "loss_prob": "0", "pkt_rcvd": 10, "pkt_mark": 2}
    fields |= {"pkt_lost": 0, "pacing_rate": "2.5", "pkt_inflight": 4, "pkt_window": 6}
    return json.dumps({k: str(v) for k, v in (fields | values).items()}, separators=(",", ":"))


def test_reports_are_quoted_numbers_that_count_since_the_last(tmp_path: Path) -> None:
    text = "\n".join(
        [report(10**15), report(10**15 + 10**6, pkt_mark=3), report(10**15 + 2, rtt="x")]
    )
    log = read(tmp_path / "run.json", text + '\n{"name":"torn')
    assert (log.unix_offset_ns, log.clock, log.records) == (0, "realtime", 3)
    rows = log.samples.sort("ts_ns").to_dicts()
    assert (rows[0]["srtt_us"], rows[0]["pacing_rate_bps"]) == (10_500.0, 2.5e6)
    assert (rows[0]["snd_cwnd"], rows[0]["packets_out"]) == (6, 4)
    assert [row["delivered"] for row in rows] == [10, 30, 20]
    assert [row["delivered_ce"] for row in rows] == [2, 7, 5]
    assert rows[1]["srtt_us"] is None


@pytest.mark.parametrize(
    "text",
    [
        SENDER.splitlines()[0],
        SENDER.splitlines()[0] + "\ns: 99999999999999999999999, 1\n\x00\x00\n",
        report(10**15, time="9" * 40),
    ],
)
def test_nothing_to_read_is_one_line(tmp_path: Path, text: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path / "bad", text)
    assert "\n" not in str(caught.value)
