"""`--host` over ssh against namespaces with an sshd of their own (issue: capture, point 6)."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from l4strace.core import _native
from tests.capture.test_endings import assert_readable, log_of
from tests.support import needs
from tests.support.network import PORT, RIGHT_ADDRESS, Capture, Network, network, on_the_host
from tests.support.processes import PATIENCE_SECONDS, wait_until

SSH_PORT = 2222
pytestmark = [*on_the_host, pytest.mark.needs("sshd")]


@dataclass(frozen=True)
class Hosts:
    """The right host runs an sshd that accepts `key`; `ssh` is the option for l4strace."""

    net: Network
    folder: Path
    key: Path
    wrong_key: Path
    server: subprocess.Popen[str]

    def ssh(self, key: Path | None = None) -> str:
        known = f"-o StrictHostKeyChecking=no -o UserKnownHostsFile={self.folder / 'known'}"
        only = "-o IdentitiesOnly=yes -o IdentityAgent=none -o LogLevel=ERROR"
        return f"ssh -F none -p {SSH_PORT} -i {key or self.key} {known} {only}"

    def words(self, stem: Path, *words: str, key: Path | None = None) -> list[str]:
        program = [sys.executable, "-m", "l4strace", "capture", "--ssh", self.ssh(key)]
        return [*program, "-o", str(stem), "--filter", f"tcp port {PORT}", *words]

    def capture(self, stem: Path, *words: str, key: Path | None = None) -> tuple[int, str, str]:
        done = self.net.run(self.net.left, *self.words(stem, *words, key=key))
        return done.returncode, done.stdout, done.stderr


REMOTE = f"server=root@{RIGHT_ADDRESS},v1"
LOCAL = "client=local,v0"


def write_keys(folder: Path) -> None:
    for name in ("host", "key", "wrong", "bare"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True
        )
    # With the key `bare` the host looks as if it had no programs at all.
    bare = 'command="PATH=/nowhere /bin/sh -c \\"$SSH_ORIGINAL_COMMAND\\"" '
    keys = (folder / "key.pub").read_text() + bare + (folder / "bare.pub").read_text()
    (folder / "authorized").write_text(keys)
    (folder / "config").write_text(
        f"Port {SSH_PORT}\nHostKey {folder / 'host'}\nAuthorizedKeysFile {folder / 'authorized'}\n"
        "PasswordAuthentication no\nKbdInteractiveAuthentication no\nUsePAM no\n"
        f"StrictModes no\nPidFile none\nPermitRootLogin yes\n"
    )


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    folder = tmp_path_factory.mktemp("ssh")
    write_keys(folder)
    Path("/run/sshd").mkdir(exist_ok=True)
    with network() as net:
        # sshd wants its whole path.
        sshd = needs.program("sshd")
        assert sshd is not None
        server = net.start(net.right, sshd, "-D", "-f", str(folder / "config"))
        listens = ["ss", "-Hltn", f"sport = :{SSH_PORT}"]
        wait_until(lambda: net.run(net.right, *listens).stdout, "sshd listens")
        try:
            yield Hosts(net, folder, folder / "key", folder / "wrong", server)
        finally:
            server.terminate()
            server.wait()


class Folders:
    """Folders that recorders on a host made since the test began."""

    def __init__(self) -> None:
        self.before = self.all()

    def all(self) -> set[Path]:
        return {path.parent for path in Path("/tmp").glob("l4strace-*/collectors.pyz")}  # noqa: S108

    def new(self) -> set[Path]:
        return self.all() - self.before

    def sizes(self) -> list[int]:
        """Of their captures."""
        return [(path / "run.pcapng").stat().st_size for path in self.new()]


@pytest.fixture
def folders() -> Iterator[Folders]:
    made = Folders()
    yield made
    for path in made.new():
        shutil.rmtree(path)


def test_two_hosts_come_back_as_one_run(hosts: Hosts, tmp_path: Path, folders: Folders) -> None:
    stem = tmp_path / "run"
    words = ["--host", LOCAL, "--host", REMOTE, "--", *hosts.net.send(2)]
    code, out, err = hosts.capture(stem, *words)
    assert code == 0, err
    assert f"stopped: {sys.executable} ended (exit code 0)" in err
    assert f"l4strace diagnose {stem}-client.pcapng {stem}-server.pcapng" in out
    for name in ("client", "server"):
        own = stem.with_name(f"run-{name}")
        assert assert_readable(own) > 100
        assert log_of(own)[-1]["type"] == "trailer"
        host = json.loads(Path(f"{own}.host.json").read_text())
        for when in ("before", "after"):
            clock = host["clock_vs_controller"][when]
            # One machine, one clock: what is left is the exchange itself.
            assert abs(clock["offset_ns"]) <= clock["uncertainty_ns"] + 1_000_000
    assert folders.new() == set(), "nothing stays on the host"


def test_the_ssh_session_that_records_stays_out(
    hosts: Hosts, tmp_path: Path, folders: Folders
) -> None:
    words = ["--host", REMOTE, "--filter", "", "--kernel", "none", "--", *hosts.net.send(1)]
    code, _, err = hosts.capture(tmp_path / "run", *words)
    assert code == 0, err
    flows = pl.DataFrame(_native.track([str(tmp_path / "run-server.pcapng")])["flows"])
    ports = set(flows["server_port"]) | set(flows["client_port"])
    assert PORT in ports
    assert SSH_PORT not in ports


def test_a_wrong_key_is_said_and_nothing_is_recorded(
    hosts: Hosts, tmp_path: Path, folders: Folders
) -> None:
    words = ["--host", REMOTE, "--duration", "1"]
    code, _, err = hosts.capture(tmp_path / "run", *words, key=hosts.wrong_key)
    assert code == 4
    assert "Permission denied" in err
    assert list(tmp_path.iterdir()) == []


def test_a_missing_python_is_said(hosts: Hosts, tmp_path: Path, folders: Folders) -> None:
    words = ["--host", REMOTE, "--duration", "1"]
    code, _, err = hosts.capture(tmp_path / "run", *words, key=hosts.folder / "bare")
    assert code == 4
    assert "server: has no python3" in err
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_interface_there_is_said(hosts: Hosts, tmp_path: Path, folders: Folders) -> None:
    words = ["--host", f"server=root@{RIGHT_ADDRESS},nope0", "--duration", "1"]
    code, _, err = hosts.capture(tmp_path / "run", *words)
    assert code == 4
    assert "server: packets: no interface nope0" in err
    assert folders.new() == set()


def test_a_host_that_dies_midway_costs_only_its_own_part(
    hosts: Hosts, tmp_path: Path, folders: Folders
) -> None:
    stem = tmp_path / "run"
    words = ["--host", LOCAL, "--host", REMOTE, "--kernel", "tracefs"]
    process = Capture(hosts.net.command(hosts.net.left, *hosts.words(stem, *words)))
    # The last thing that it says before it orders the start.
    process.wait_for("server: clock offset")
    hosts.net.transfer(1)
    wait_until(lambda: min(folders.sizes()) > 10_000, "packets at both")
    for pid in sessions(hosts):
        os.kill(pid, signal.SIGKILL)
    hosts.net.transfer(1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1, err
    assert assert_readable(stem.with_name("run-client")) > 100
    assert "error: server:" in err
    assert "is in /tmp/l4strace-" in err
    assert f"diagnose {stem}-client.pcapng" in out
    (left,) = (path for path in folders.new() if (path / "run.pcapng").exists())
    host = left / "run.host.json"
    wait_until(lambda: json.loads(host.read_text())["complete"], "its recorder ends by itself")
    assert_readable(left / "run")
    assert log_of(left / "run")[-1]["type"] == "trailer"


def sessions(hosts: Hosts) -> list[int]:
    """The sshd processes that serve a connection, not the one that listens."""
    listed = subprocess.run(
        ["ps", "-eo", "pid,ppid", "--no-headers"], capture_output=True, text=True, check=True
    )
    rows = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    return [pid for pid, parent in rows if parent == hosts.server.pid]
