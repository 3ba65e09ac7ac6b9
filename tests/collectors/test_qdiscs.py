"""Polls of the qdiscs during a run, read back by the importer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from l4strace.ingest.logs import open_log
from run import qdiscs
from run.qdiscs import Qdiscs

DUALPI2 = {
    "kind": "dualpi2", "handle": "1:0", "parent": "root", "bytes": 10**6, "packets": 700,
    "qlen": 2, "backlog_bytes": 3072, "drops": 3, "requeues": 0, "overlimits": 0,
    "options": {"limit": 10000},
    "statistics": {"prob": 0.0125, "delay-c": 14000, "delay-l": 350, "ecn-mark": 40},
}  # fmt: skip


@pytest.fixture
def output(tmp_path: Path) -> Iterator[int]:
    made = os.open(tmp_path / "run.tc.txt", os.O_CREAT | os.O_WRONLY)
    yield made
    os.close(made)


def test_a_poll_is_what_tc_prints() -> None:
    row = qdiscs.as_tc("eth0", DUALPI2)
    assert (row["dev"], row["handle"], row["backlog"]) == ("eth0", "1:", 3072)
    assert (row["delay-l"], row["ecn-mark"]) == (350, 40)
    assert not row.keys() & {"options", "statistics", "backlog_bytes"}


def test_an_interface_that_is_gone_has_no_qdisc() -> None:
    assert qdiscs.polled("no-such-if0") == []
    assert qdiscs.with_queue(["no-such-if0"]) == []


def test_a_full_disk_ends_the_polls(tmp_path: Path) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    polls = Qdiscs(["lo"], full)
    polls.poll()
    polls.poll()
    os.close(full)
    assert polls.trouble == "No space left on device"


@pytest.mark.root
def test_the_polls_of_a_host_are_read_back(tmp_path: Path, output: int) -> None:
    veth = f"l4q{os.getpid() % 10**6}"
    made = f"ip link add {veth} type veth peer name {veth}p"
    tbf = f"tc qdisc add dev {veth} root handle 7: tbf rate 20mbit burst 5k limit 60k"
    try:
        for line in (made, tbf):
            subprocess.run(line.split(), check=True)
        assert qdiscs.with_queue(["lo", veth]) == [veth]
        polls = Qdiscs([veth], output)
        polls.poll()
        polls.poll()
    finally:
        subprocess.run(["ip", "link", "del", veth])
    found = open_log.read(str(tmp_path / "run.tc.txt")).qdiscs
    assert found.select("interface", "kind", "handle").unique().rows() == [(veth, "tbf", "7:")]
    assert found.height == 2
    assert found["backlog_bytes"].to_list() == [0, 0]
