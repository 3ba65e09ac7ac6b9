"""However a capture ends, the host is as before: offloads, sysctls, links, trace instances."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.network import READY, Capture, Network, network, on_the_host
from tests.support.processes import (
    PATIENCE_SECONDS,
    descendants,
    none_left,
    running,
    trace_instances,
)

pytestmark = on_the_host
WORDS = ("--kernel", "tracefs", "--offloads", "off")
STATE = """
import json, pathlib, subprocess, sys
def text(path):
    try:
        return path.read_text()
    except OSError:
        return None
sysctls = [p for f in ("net", "kernel") for p in pathlib.Path("/proc/sys", f).rglob("*")]
lines = [subprocess.run(c.split(), capture_output=True, text=True).stdout for c in sys.argv[1:]]
print(json.dumps([lines, {str(p): text(p) for p in sysctls if p.is_file()}]))
"""
MOVES = tuple(
    f"/proc/sys/{name}"
    for name in (
        "kernel/random", "kernel/ns_last_pid", "kernel/pty", "kernel/hung_task_detect_count",
        "kernel/perf_event_max_sample_rate", "net/netfilter/nf_conntrack_count",
    )
)  # fmt: skip
"""Not settings: what the kernel counts or tunes there."""


@pytest.fixture
def net() -> Iterator[Network]:
    with network() as made:
        yield made


def state(net: Network) -> tuple[list[str], dict[str, Any]]:
    """What a capture could change on the left host."""
    device = net.left_device
    commands = (f"ethtool -k {device}", f"ip -d link show {device}", f"tc qdisc show dev {device}")
    done = net.run(net.left, sys.executable, "-c", STATE, *commands)
    lines, sysctls = json.loads(done.stdout)
    assert all(lines), done.stderr
    return lines, {path: value for path, value in sysctls.items() if not path.startswith(MOVES)}


def begun(net: Network, stem: Path) -> tuple[Capture, dict[int, int | None]]:
    process = net.start_capture("-o", str(stem), *WORDS)
    process.wait_for(*READY)
    return process, running(process.pid)


def succeed(net: Network, stem: Path) -> None:
    done = net.capture("-o", str(stem), *WORDS, "--duration", "0.5")
    assert done.returncode == 0, done.stderr


def fail_to_begin(net: Network, stem: Path) -> None:
    """The kernel's source records and offloads are off before the packets' part refuses."""
    done = net.capture("-o", str(stem), *WORDS, "--filter", "port ((")
    assert done.returncode == 4, done.stderr
    assert list(stem.parent.iterdir()) == []


def terminate(net: Network, stem: Path) -> None:
    process, ran = begun(net, stem)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=PATIENCE_SECONDS)
    none_left(ran, stem)
    assert process.returncode == 0, err


def kill_all_and_start_again(net: Network, stem: Path) -> None:
    """Nobody is left who could tidy up: the next start does."""
    process, ran = begun(net, stem)
    before = descendants(process.pid)
    for pid in (*before, process.pid):
        os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=PATIENCE_SECONDS)
    none_left(ran, stem)
    succeed(net, stem.with_name("next"))


@pytest.mark.parametrize("end", [succeed, fail_to_begin, terminate, kill_all_and_start_again])
def test_the_host_is_as_before(net: Network, tmp_path: Path, end: Any) -> None:
    before = state(net)
    assert "tcp-segmentation-offload: on" in before[0][0]
    end(net, tmp_path / "run")
    assert state(net) == before
    assert trace_instances() == set()
