"""The recording script can be run again, and leaves the host as it found it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from l4strace.core import _native
from tests.support.places import FIXTURES

RECORD = FIXTURES / "lab" / "record.py"
TOOLS = ("clang", "bpftool", "tcpdump", "ethtool", "ip", "tc", "zstd")
AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
CANNOT = 1


def host_state() -> tuple[str, str, str]:
    """What a recording changes while it runs."""
    spaces = subprocess.run(["ip", "netns", "list"], check=True, capture_output=True, text=True)
    ours = [line for line in spaces.stdout.splitlines() if line.startswith("l4lab-")]
    mounts = [line for line in Path("/proc/mounts").read_text().splitlines() if "l4lab" in line]
    return str(ours), AVAILABLE.read_text(), str(mounts)


@pytest.mark.root
@pytest.mark.needs(*TOOLS)
def test_a_run_can_be_recorded_again(tmp_path: Path) -> None:
    before = host_state()
    command = [sys.executable, str(RECORD), "accecn-clean", "-o", str(tmp_path)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert host_state() == before
    if done.returncode == CANNOT and "struct_ops register" in done.stderr:
        pytest.skip("this kernel takes no struct_ops congestion control that requests AccECN")
    assert done.returncode == 0, done.stderr
    run = tmp_path / "accecn-clean"
    truth = json.loads((run / "truth.json").read_text())
    ways = pl.DataFrame(_native.track([str(run / "receiver.pcap.xz")])["directions"])
    seen = ways.filter(pl.col("forward")).row(0, named=True)
    assert seen["ce"] == truth["programs"]["aqm"]["changed"] > 0
    assert (run / "sender.kernel.ndjson.zst").stat().st_size > 0


def test_help_tells_the_scenarios() -> None:
    done = subprocess.run(
        [sys.executable, str(RECORD), "--help"], check=True, capture_output=True, text=True
    )
    assert "accecn-deaf" in done.stdout
