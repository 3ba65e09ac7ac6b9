"""One clock: offsets stated, matched and refused. One clear statement for each log that is off."""

import shutil
from pathlib import Path

import polars as pl

from l4strace.core import _native
from l4strace.evidence import Capture
from l4strace.ingest import load

STRANGER = (
    "x-1 [000] ..s4. 30.500000: ack: (f+0x4/0x80) sk=0x1 sport=1234 dport_be=0x1234 snd_cwnd=1\n"
)


def statements(capture: Capture) -> dict[str, str]:
    log = capture.sources["source"].max()
    rows = capture.stats.filter(pl.col("source") == log)
    return dict(rows.select("name", "detail").iter_rows())


def alone(shared_data: Path, run: str, folder: Path) -> Path:
    """The run's trace without the `clock.txt` beside it."""
    return Path(shutil.copy(shared_data / f"lab/{run}/trace.txt.zst", folder / "trace.txt.zst"))


def test_a_stated_offset_is_taken_and_checked(shared_data: Path) -> None:
    run = shared_data / "lab/q1"
    capture = load.load([str(run / "sender.pcap.xz"), str(run / "trace.txt.zst")])
    log = capture.sources.row(1, named=True)
    assert log["clock_offset_ns"] == 1795251816903854698
    assert log["clock_residual_ns"] < 10_000
    assert statements(capture) == {}
    assert capture.kernel.filter(pl.col("flow") == 1).height == 5950


def test_without_an_offset_the_packets_give_it(shared_data: Path, tmp_path: Path) -> None:
    pcap = str(shared_data / "lab/q1/sender.pcap.xz")
    capture = load.load([pcap, str(alone(shared_data, "q1", tmp_path))])
    log = capture.sources.row(1, named=True)
    assert abs(log["clock_offset_ns"] - 1795251816903854698) < 10_000
    assert log["clock_residual_ns"] < 10_000
    assert capture.kernel.filter(pl.col("flow") == 1).height == 5950


def test_a_log_of_another_host_is_not_joined(shared_data: Path, tmp_path: Path) -> None:
    pcap = str(shared_data / "lab/h/sender.pcap.xz")
    capture = load.load([pcap, str(alone(shared_data, "q1", tmp_path))])
    said = statements(capture)
    assert list(said) == ["kernel_log_not_joined"]
    assert "another host" in said["kernel_log_not_joined"]
    flows = capture.flows.filter(pl.col("source") == 1)["flow"]
    assert set(capture.kernel["flow"]) <= set(flows)
    assert capture.kernel.height == 5973


def test_a_log_of_other_ports_is_not_joined(shared_data: Path, tmp_path: Path) -> None:
    log = tmp_path / "trace.txt"
    log.write_text(
        "x-1 [000] ..s4. 1.500000: ack: (f+0x4/0x80) sk=0x1 sport=1234 dport_be=0x1234 a=1\n"
    )
    capture = load.load([str(shared_data / "lab/q1/sender.pcap.xz"), str(log)])
    assert "another host, or another time" in statements(capture)["kernel_log_not_joined"]


def test_a_socket_that_is_not_in_the_capture_is_left_out(shared_data: Path, tmp_path: Path) -> None:
    run = shared_data / "lab/q1"
    extra = STRANGER
    text = b"".join(_native.read_text(str(run / "trace.txt.zst"))) + extra.encode()
    log = tmp_path / "trace.txt"
    log.write_bytes(text)
    shutil.copy(run / "clock.txt", tmp_path)
    capture = load.load([str(run / "sender.pcap.xz"), str(log)])
    left = "Left out, such as ?:1234 to ?:13330: diagnose this log alone to see them."
    assert statements(capture) == {"sockets_not_captured": left}
    assert capture.kernel.filter(pl.col("flow") == 1).height == 5950
    assert set(capture.flows["flow"]) == set(capture.kernel["flow"]) | {0}
    assert load.load([str(log)]).flows.height == 3


def test_a_wrong_offset_is_corrected(shared_data: Path, tmp_path: Path) -> None:
    log = alone(shared_data, "q1", tmp_path)
    (tmp_path / "clock.txt").write_text("realtime_minus_monotonic_ns 1795251716903854698\n")
    capture = load.load([str(shared_data / "lab/q1/sender.pcap.xz"), str(log)])
    assert list(statements(capture)) == ["clock_offset_wrong"]
    assert abs(capture.sources["clock_offset_ns"][1] - 1795251816903854698) < 10_000


def test_a_stepped_clock_is_told(shared_data: Path, tmp_path: Path) -> None:
    run = shared_data / "lab/q1"
    text = b"".join(_native.read_text(str(run / "trace.txt.zst")))
    lines = text.decode().splitlines(keepends=True)
    half = len(lines) // 2
    stamp = lines[half].split("]")[1].split()[1].rstrip(":")
    later = f"{float(stamp) + 7:.6f}"
    shifted = [
        line.replace(old, f"{float(old) + 7:.6f}")
        for line in lines[half:]
        for old in [line.split("]")[1].split()[1].rstrip(":")]
    ]
    assert later in shifted[0]
    log = tmp_path / "trace.txt"
    log.write_text("".join(lines[:half] + shifted))
    capture = load.load([str(run / "sender.pcap.xz"), str(log)])
    said = statements(capture)
    assert list(said) == ["clock_steps", "kernel_log_not_joined"]
    assert "clocks was set" in said["kernel_log_not_joined"]


def test_a_cut_log_keeps_what_was_read(shared_data: Path, tmp_path: Path) -> None:
    whole = (shared_data / "lab/q1/trace.txt.zst").read_bytes()
    log = tmp_path / "trace.txt.zst"
    log.write_bytes(whole[: len(whole) // 2])
    capture = load.load([str(shared_data / "lab/q1/sender.pcap.xz"), str(log)])
    assert "truncated_file" in statements(capture)
    assert capture.sources["complete"].to_list()[1] is False
    assert capture.kernel.height > 1000
