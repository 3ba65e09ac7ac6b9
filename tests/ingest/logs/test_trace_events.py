"""tracefs text: the lab dialect of kprobe events and mainline tcp_probe."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from l4strace import resources
from l4strace.core import _native
from l4strace.errors import InputError
from l4strace.ingest.join import attach
from l4strace.ingest.logs import trace_events
from tests.support import frames
from tests.support.signals import MOST_BYTES, interrupted

ACK = (
    "<idle>-0 [000] ..s4. 1.000001: ack: (prague_cong_control+0x4/0x80) "
    "sk=0x1 sport=40001 dport_be=0x5114"
)
PROBE = (
    "x-1 [000] ..s4. 1.500000: tcp_probe: family=AF_INET6 src=[fd00::1]:40001 dest=[fd00::2]:5201 "
    "mark=0x0 data_len=0 snd_nxt=0x2 snd_una=0x1 snd_cwnd=10 ssthresh=2147483647 snd_wnd=1 "
    "srtt=10031 rcv_wnd=2"
)


def test_batches_are_small_whatever_the_log_is() -> None:
    lines, seen = _native.LogLines("event"), []
    for _ in range(200):
        if (table := lines.feed(f"{ACK}\n".encode() * 200)) is not None:
            seen.append(pl.DataFrame(table).height)
    assert seen
    assert max(seen) < (1 << 14) + 200


def write(folder: Path, *lines: str) -> str:
    path = folder / "trace.txt"
    path.write_text("# tracer: nop\n" + "\n".join(lines) + "\n")
    return str(path)


def only(path: str) -> dict[str, Any]:
    """The one sample of a log."""
    samples = trace_events.read(path).samples
    assert samples.height == 1
    return samples.row(0, named=True)


def test_fields_convert_to_the_units_of_the_table(tmp_path: Path) -> None:
    fields = "srtt_us=80248 mdev_us=20062 snd_ssthresh=2147483647 rs_rtt=-1 ca_state_byte=0x22"
    row = only(write(tmp_path, f"{ACK} {fields} pacing_rate=18446744073709551615"))
    assert (row["srtt_us"], row["mdev_us"], row["ca_state"]) == (10031.0, 5015.5, 2)
    assert row["dport"] == 5201
    assert row["ssthresh"] is row["pacing_rate_bps"] is row["rs_rtt_us"] is None


def test_tcp_probe_keeps_what_has_no_column(tmp_path: Path) -> None:
    row = only(write(tmp_path, PROBE))
    assert (row["saddr"], row["sport"]) == ("fd00::1", 40001)
    assert (row["daddr"], row["dport"]) == ("fd00::2", 5201)
    assert (row["snd_nxt"], row["srtt_us"], row["ssthresh"]) == (2, 10031.0, None)
    assert row["extra"] == '{"mark":0,"snd_wnd":1,"rcv_wnd":2}'


def test_tcp_probe_without_its_ends_is_a_sample_of_no_known_socket(tmp_path: Path) -> None:
    path = write(tmp_path, *[PROBE.replace("src=", "saddr=").replace("dest=", "daddr=")] * 3)
    samples = trace_events.read(path).samples
    assert samples["snd_nxt"].to_list() == [2, 2, 2]
    assert samples.select("saddr", "sport", "daddr", "dport").null_count().row(0) == (3, 3, 3, 3)


def test_extended_tcp_probe_gives_the_detectors_inputs(tmp_path: Path) -> None:
    pace = "srtt_pace=10083 min_rtt=10030 mrtt_pace=10090 mdev_pace=43 rcv_wnd=2 sock_cookie=a"
    line = PROBE.replace("rcv_wnd=2", pace)
    path = write(tmp_path, line + " classic_ecn=285212672 alpha=16777216")
    row = only(path)
    assert (row["srtt_pace_us"], row["min_rtt_us"], row["mdev_pace_us"]) == (10083, 10030, 43)
    assert (row["classic_ecn_raw"], row["alpha_raw"]) == (285212672, 16777216)
    assert row["sk"] == "cookie-a"
    assert trace_events.read(path).kind == "tcp-probe"


def test_default_probe_names_are_understood(tmp_path: Path) -> None:
    log = trace_events.read(write(tmp_path, ACK.replace(" ack:", " pr:p_prague_update_alpha_0:")))
    assert log.samples["event"].to_list() == ["alpha"]


def test_losses_are_told(tmp_path: Path) -> None:
    log = trace_events.read(
        write(tmp_path, ACK, "CPU:0 [LOST 117 EVENTS]", "garbage", ACK + " a=1")
    )
    assert {name: count for name, count, *_ in log.stats} == {"ring_lost": 117, "lines_unread": 1}
    assert log.records == 2


def test_a_report_of_trace_cmd_loses_what_it_states(tmp_path: Path) -> None:
    """What it prints about its file is no lost line, and its notices are not one event each."""
    about = ("version = 7", "CPU 0 is empty", "cpus=4")
    notices = ("CPU:7 [204600 EVENTS DROPPED]", "CPU:6 [EVENTS DROPPED]", "CPU:5 [LOST EVENTS]")
    log = trace_events.read(write(tmp_path, *about, ACK, *notices, ACK))
    assert [(name, count) for name, count, *_ in log.stats] == [("ring_lost", 204_602)]
    assert log.records == 2


def test_events_without_fields_are_lost_if_they_are_ours(tmp_path: Path) -> None:
    other = "<idle>-0 [000] 1.000002: rcu_utilization: Start context switch"
    cut_off = "x-1 [000] 1.000003: pr:p_prague_update_alpha_0: (prague_update_alpha+0x4/0x80)"
    log = trace_events.read(write(tmp_path, other, ACK, cut_off, other, PROBE, other))
    counts = {(name, severity): count for name, count, severity, _ in log.stats}
    assert counts == {("events_of_others", "info"): 3, ("lines_unread", "loss"): 1}
    assert (log.records, log.samples["event"].to_list()) == (2, ["ack", "probe"])
    log = trace_events.read(write(tmp_path, *[other] * 3))
    assert (log.records, log.samples.height) == (0, 0)


def test_what_somebody_printed_into_the_ring_is_no_lost_sample(tmp_path: Path) -> None:
    printed = (
        "bash-7 [001] ..... 1.2: tracing_mark_write: run 3 begins",
        "bash-7 [001] ..... 1.3: tracing_mark_write: rate=50 delay=10",
        "iperf3-9 [001] ..... 1.4: print: 0xffffffff: free text",
    )
    log = trace_events.read(write(tmp_path, printed[0], ACK, *printed[1:], PROBE))
    assert log.samples["event"].to_list() == ["ack", "probe"]
    assert [name for name, _, severity, _ in log.stats if severity == "loss"] == []


def test_a_task_cannot_hide_events_by_its_name(tmp_path: Path) -> None:
    """What was printed was looked for anywhere in a line, of which a task writes 15 bytes."""
    log = trace_events.read(write(tmp_path, f"7: print: {ACK}", ACK))
    assert log.samples["event"].to_list() == ["ack", "ack"]


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("hello\n")
    with pytest.raises(InputError, match="neither"):
        attach.load_logs(frames.capture(), [str(path)])


def test_a_return_probe_has_the_socket_of_the_cut_before_it(tmp_path: Path) -> None:
    """Whether or not a batch ends between the two, and whatever else the next batch holds."""
    cut = "x-1 [{cpu}] 1.5: cwr: (prague_enter_cwr+0x0/0xe0) sk={sk:#x} sport={port}"
    back = "x-1 [{cpu}] 1.5: fallback: (prague_enter_cwr+0xc8/0xe0 <- f) alpha_out=5"
    cuts = [{"cpu": i % 3, "sk": i, "port": i % 7} for i in range(40_000)]
    lines = [line.replace("1.5", "1.500000").format(**c) for c in cuts for line in (cut, back)]
    found = trace_events.read(write(tmp_path, *lines)).samples.filter(event="fallback")
    assert found["sk"].to_list() == [f"{c['sk']:#x}" for c in cuts]
    assert found["sport"].to_list() == [c["port"] for c in cuts]


def test_cuts_of_earlier_batches_count_by_cpu(tmp_path: Path) -> None:
    cut = "x-1 [{0}] 1.500000: cwr: (f+0x0/0xe0) sk=0x{0} sport=4{0}"
    back = "x-1 [{}] 1.500000: fallback: (f+0xc8/0xe0 <- g) alpha_out=5"
    cpus = (0, 1, 7, 100_000)
    between = [back.format(9)] * 100_000
    between.append("x-1 [0] 1.500000: cpumask_set: cpu=0-3")
    lines = [*map(cut.format, cpus), *between, *map(back.format, cpus)]
    found = trace_events.read(write(tmp_path, *lines)).samples.tail(len(cpus))
    # No machine has the last of these CPUs, and what is kept for each is bounded.
    assert found["sk"].to_list() == ["0x0", "0x1", "0x7", None]
    assert found["sport"].to_list() == [40, 41, 47, None]


def test_a_return_probe_without_a_cut_has_no_socket(tmp_path: Path) -> None:
    row = only(
        write(tmp_path, "x-1 [0] 1.500000: fallback: (f+0xc8/0xe0 <- g) sport=5 alpha_out=5")
    )
    assert (row["sk"], row["sport"], row["alpha_used_raw"]) == (None, 5, 5)


@pytest.mark.parametrize("several", [False, True])
def test_a_log_without_events_is_left_at_a_signal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, several: bool
) -> None:
    """The thread that reads ahead went on to the end of the file, and the caller waited for it."""
    path, opened = tmp_path / "endless", []
    read_text = _native.read_text
    monkeypatch.setattr(
        _native, "read_text", lambda name: opened.append(read_text(name)) or opened[0]
    )
    monkeypatch.setattr(resources, "_several", lambda: several)
    with interrupted(path):
        trace_events.read(str(path))
    assert 0 < opened[0].bytes_read < MOST_BYTES
