"""However a recording ends, what it had is closed, said and readable (issue: capture, point 4)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from l4strace import pipeline
from l4strace.core import _native
from l4strace.wording.quantities import count
from tests.support.network import LEFT_ADDRESS, READY, Capture, Network, network, on_the_host
from tests.support.processes import (
    PATIENCE_SECONDS,
    find,
    none_left,
    running,
    trace_instances,
    wait_until,
)

pytestmark = on_the_host
RECORD_BYTES = 170
"""Of a packet of which 128 bytes are kept, with the block around them."""


@pytest.fixture(scope="module")
def net() -> Iterator[Network]:
    with network() as made:
        yield made


def log_of(stem: Path) -> list[dict[str, object]]:
    """Records of the kernel log, whatever is whole of it."""
    path = next(stem.parent.glob(f"{stem.name}.kernel.ndjson*"))
    text = b"".join(_native.read_text(str(path)))
    return [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith(b"\n")]


def begin(net: Network, stem: Path, *words: str) -> Capture:
    """A capture that runs, with packets of a transfer on the disk."""
    process = net.start_capture("-o", str(stem), *words)
    process.wait_for(*READY)
    net.transfer(1)
    capture = stem.with_name(stem.name + ".pcapng")
    wait_until(lambda: capture.stat().st_size > 200 * RECORD_BYTES, f"packets in {capture}")
    return process


def end(process: Capture) -> tuple[str, str]:
    return process.communicate(timeout=PATIENCE_SECONDS)


def assert_readable(stem: Path) -> int:
    """The capture is there, has packets and is whole; returns their number."""
    records, _ = _native.walk(str(stem) + ".pcapng")
    assert records > 0
    return int(records)


def test_a_recording_under_way_is_read(net: Network, tmp_path: Path) -> None:
    """Packets, the log so far and the host file that is not complete yet."""
    process = begin(net, tmp_path / "run", "--kernel", "tracefs")
    wait_until(lambda: len(log_of(tmp_path / "run")) > 100, "100 lines on the disk")
    run = pipeline.read([str(tmp_path / "run.pcapng")])
    assert run.directions["packets"].sum() > 100
    assert run.kernel.height > 50
    assert run.sources.filter(kind="kernel-log")["complete"].to_list() == [False]
    assert [host["complete"] for host in run.host_files] == [False]
    assert pipeline.judge(pipeline.derive(run), strict=True)
    process.send_signal(signal.SIGINT)
    end(process)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_everything(net: Network, tmp_path: Path, number: signal.Signals) -> None:
    process = begin(net, tmp_path / "run", "--kernel", "tracefs")
    process.send_signal(number)
    out, err = end(process)
    assert process.returncode == 0, err
    assert "l4strace diagnose" in out
    assert "interrupted" in err
    assert assert_readable(tmp_path / "run") > 100
    trailer = log_of(tmp_path / "run")[-1]
    assert trailer["type"] == "trailer"
    assert trailer["lost"] == {}
    host = json.loads((tmp_path / "run.host.json").read_text())
    assert host["complete"] is True
    assert trace_instances() == set()


def test_a_duration_ends_it(net: Network, tmp_path: Path) -> None:
    done = net.capture("-o", str(tmp_path / "run"), "--duration", "1", "--kernel", "diag")
    assert done.returncode == 0, done.stderr
    assert "the duration is over" in done.stderr


@pytest.mark.parametrize(
    ("victim", "survivors"),
    [("collectors packets", "kernel"), ("dumpcap -p", "kernel"), ("collectors tracefs", "packets")],
)
def test_a_killed_part_leaves_the_others(
    net: Network, tmp_path: Path, victim: str, survivors: str
) -> None:
    process = begin(net, tmp_path / "run", "--kernel", "tracefs", "--packets", "dumpcap")
    os.kill(find(process.pid, victim), signal.SIGKILL)
    process.wait_for("killed by signal 9")
    if survivors == "packets":
        net.transfer(1)
        process.send_signal(signal.SIGINT)
    _, err = end(process)
    assert process.returncode == 1
    assert "killed by signal 9" in err
    assert_readable(tmp_path / "run")
    records = log_of(tmp_path / "run")
    assert records[0]["type"] == "header"
    assert (records[-1]["type"] == "trailer") is (survivors == "kernel")
    process = begin(net, tmp_path / "again", "--kernel", "tracefs")
    process.send_signal(signal.SIGINT)
    end(process)
    assert trace_instances() == set(), "the next run sweeps what a killed one left"


def test_kill_9_of_the_supervisor_closes_the_parts(net: Network, tmp_path: Path) -> None:
    process = begin(net, tmp_path / "run", "--kernel", "tracefs")
    ran = running(process.pid)
    os.kill(find(process.pid, "collectors record"), signal.SIGKILL)
    _, err = end(process)
    assert process.returncode == 4
    assert "the recorder failed" in err
    none_left(ran, tmp_path)
    assert_readable(tmp_path / "run")
    assert log_of(tmp_path / "run")[-1]["type"] == "trailer"
    assert trace_instances() == set()


def test_kill_9_of_l4strace_itself_closes_the_parts(net: Network, tmp_path: Path) -> None:
    process = begin(net, tmp_path / "run", "--kernel", "tracefs")
    ran = running(process.pid)
    os.kill(process.pid, signal.SIGKILL)  # `ip netns exec` has become it
    end(process)
    none_left(ran, tmp_path)
    assert json.loads((tmp_path / "run.host.json").read_text())["complete"]
    assert_readable(tmp_path / "run")
    assert log_of(tmp_path / "run")[-1]["type"] == "trailer"


@pytest.mark.parametrize("backend", ["dumpcap", "tcpdump", "ring"])
@pytest.mark.parametrize(("size", "rate"), [("400k", 1000), ("100k", 200)])
def test_a_full_disk_keeps_what_fits(
    net: Network, tmp_path: Path, backend: str, size: str, rate: int
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], check=True)
    try:
        stem = disk / "run"
        words = ["-o", str(stem), "--kernel", "none", "--packets", backend]
        done = net.capture(*words, "--", *net.send(1, rate))
        assert done.returncode == 1, done.stderr
        assert "failed" in done.stderr
        assert "space" in done.stderr.lower() or "did not reach the disk" in done.stderr
        reached = assert_readable(stem)
        assert reached > 100
        assert f"packets: {reached:,} written" in done.stderr
        assert (disk / "run.host.json").exists()
    finally:
        subprocess.run(["umount", str(disk)], check=True)


def test_a_log_that_does_not_fit_is_an_error_and_readable(net: Network, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=100k", "tmpfs", str(disk)], check=True)
    try:
        stem = disk / "run"
        words = ["-o", str(stem), "--kernel", "tracefs", "--packets", "none"]
        done = net.capture(*words, "--", *net.send(2, 1000))
        assert done.returncode == 1, done.stderr
        assert "kernel log failed: No space left on device" in done.stderr
        records = log_of(stem)
        assert records[0]["type"] == "header"
        reached = count(len(records), "line")
        assert f"{reached} of the log reached the disk" in done.stderr
    finally:
        subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("backend", ["dumpcap", "tcpdump", "ring"])
def test_an_interface_that_vanishes(tmp_path: Path, backend: str) -> None:
    with network() as net:
        process = begin(net, tmp_path / "run", "--kernel", "diag", "--packets", backend)
        subprocess.run(["ip", "-n", net.left, "link", "delete", net.left_device], check=True)
        _, err = end(process)
        assert process.returncode == 1, err
        assert "failed" in err
        assert_readable(tmp_path / "run")
        assert log_of(tmp_path / "run")[-1]["type"] == "trailer"


def test_an_unknown_interface_is_said_at_once(net: Network, tmp_path: Path) -> None:
    program = [sys.executable, "-m", "l4strace", "capture", "-i", "nope0"]
    done = net.run(net.left, *program, "-o", str(tmp_path / "run"))
    assert done.returncode == 4
    assert "no interface nope0" in done.stderr
    assert "v0" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_old_run_is_not_overwritten(net: Network, tmp_path: Path) -> None:
    (tmp_path / "run.pcapng").write_bytes(b"precious")
    done = net.capture("-o", str(tmp_path / "run"), "--duration", "1")
    assert done.returncode == 2
    assert (tmp_path / "run.pcapng").read_bytes() == b"precious"


@pytest.mark.parametrize("backend", ["dumpcap", "tcpdump", "ring"])
def test_a_ring_keeps_the_last_megabytes(net: Network, tmp_path: Path, backend: str) -> None:
    words = ["-o", str(tmp_path / "run"), "--ring", "1", "--kernel", "none", "--packets", backend]
    done = net.capture(*words, "--", *net.send(1, 2000))
    assert done.returncode == 0, done.stderr
    held = assert_readable(tmp_path / "run")
    assert held > 100
    assert f"packets: {held:,} written, " in done.stderr
    assert (tmp_path / "run.pcapng").stat().st_size < 1_600_000
    assert [path.name for path in tmp_path.iterdir() if "pcapng" in path.name] == ["run.pcapng"]


def test_nothing_that_identifies_people_in_the_host_file(net: Network, tmp_path: Path) -> None:
    done = net.capture("-o", str(tmp_path / "run"), "--duration", "0.5", "--kernel", "none")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "run.host.json").read_text()
    mac = subprocess.run(
        ["ip", "-n", net.left, "-j", "link", "show", net.left_device],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(mac.stdout)[0]["address"] not in text
    assert LEFT_ADDRESS not in text
    assert f'"{os.uname().nodename}"' not in text
