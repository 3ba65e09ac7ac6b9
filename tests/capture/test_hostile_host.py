"""A host at the other end of ssh that lies, floods or says nothing: one line, in bounded time."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from l4strace.capture import remote, ssh
from l4strace.capture.messages import MessageError, message
from l4strace.capture.request import Request
from l4strace.errors import CollectorError
from tests.support.network import Capture

pytestmark = pytest.mark.slow

PEER = """
import os, sys, threading, time
def drain():
    while os.read(0, 65536):
        pass
if {steps!r}[0] != "deaf":
    threading.Thread(target=drain, daemon=True).start()
for step in {steps!r}:
    if step in ("wait", "deaf"):
        time.sleep({wait})
    elif step == "flood":
        for _ in range(3000):
            os.write(1, b"x" * 1000)
    elif step == "noise":
        for _ in range(5000):
            os.write(1, b"noise" + bytes([10]))
    elif step == "errors":
        os.write(2, b"e" * 10_000_000)
    else:
        os.write(1, step.encode() + bytes([10]))
time.sleep({rest})
"""
WAIT_SECONDS = 600
"""Of a host that says nothing: longer than anything else here takes."""
READY = ['{"folder": "/tmp/x"}', '{"ready": true}', *['{"clock": 1700000000000000000}'] * 9]
SUMMARY = json.dumps({"summary": {"ended": "exit", "seconds": 1.0, "kernel": {"source": "none"}}})
BEFORE = {
    "nothing": ["wait"],
    "nothing, and it reads nothing": ["deaf"],
    "a line without end": ["flood"],
    "lines that are no messages": ["noise"],
    "errors without end, then nothing": ["errors", "wait"],
    "a list": ["[1, 2]", "wait"],
    "deep nesting": ["[" * 100_000, "wait"],
    "a reason of the wrong kind": ['{"cannot": {"a": 1}}'],
    "a folder of the wrong kind": ['{"folder": [1]}'],
    "a clock of the wrong kind": [*READY[:2], '{"clock": "now"}'],
    "a clock beyond all bounds": [*READY[:2], '{"clock": 1e400}'],
    "no clock at all": [*READY[:2], "wait"],
}
AFTER = {
    "silence": ["wait"],
    "clocks without end": ['{"clock": 1}'] * 200,
    "a status of the wrong kind": ['{"status": [1]}'],
    "a status with texts": ['{"status": {"packets": "many"}}'],
    "a status that is not a number": ['{"status": {"seconds": NaN}}'],
    "a summary of the wrong kind": ['{"summary": 7}'],
    "a summary with packets of the wrong kind": ['{"summary": {"packets": [1]}}'],
    "a summary with files of the wrong kind": ['{"summary": {"files": {"a": "b"}}}'],
    "a file that is no part of a run": [SUMMARY, '{"file": "run.ssh/authorized_keys", "size": 1}'],
    "a file outside the folder": [SUMMARY, '{"file": "run/../../x", "size": 1}'],
    "a negative size": [SUMMARY, '{"file": "run.pcapng", "size": -1}'],
    "a size beyond the disk": [SUMMARY, '{"file": "run.pcapng", "size": 1000000000000000}'],
    "a file that never comes": [SUMMARY, '{"file": "run.pcapng", "size": 1000}', "wait"],
    "a file twice": [SUMMARY, *['{"file": "run.pcapng", "size": 0}'] * 2],
    "no end": [SUMMARY, "wait"],
}


def peer(folder: Path, steps: list[str], rest: float = 0) -> str:
    """An `ssh` that runs no shell but these steps."""
    script = folder / "peer.py"
    script.write_text(PEER.format(steps=steps, wait=WAIT_SECONDS, rest=rest))
    return shlex.join([sys.executable, "-I", str(script)])


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Whatever a host does, no thread is left that listens to it."""
    monkeypatch.setattr(ssh, "SILENCE_S", 1.0)
    monkeypatch.setattr(ssh, "END_S", 1.0)
    monkeypatch.setattr(ssh.Host.read, "__defaults__", (1.0,))
    before = threading.enumerate()
    yield
    assert set(threading.enumerate()) <= set(before)


def request(folder: Path) -> Request:
    return Request(interfaces=("lo",), stem=folder / "run", duration_s=1.0)


@pytest.mark.parametrize("steps", BEFORE.values(), ids=BEFORE)
def test_it_does_not_begin(
    tmp_path: Path, steps: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ssh, "START_S", 2.0)
    monkeypatch.setattr(ssh, "SEND_S", 4.0)
    began = time.monotonic()
    with pytest.raises(CollectorError) as raised:
        remote.capture(
            request(tmp_path), ["a=root@host"], peer(tmp_path, steps, WAIT_SECONDS), False
        )
    assert time.monotonic() - began < WAIT_SECONDS / 2, "it was not waited for"
    assert str(raised.value).startswith("a: ")
    assert len(str(raised.value)) < 700


@pytest.mark.parametrize("steps", AFTER.values(), ids=AFTER)
def test_it_is_lost_and_nothing_else_is(
    tmp_path: Path, steps: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x").write_text("precious")
    began = time.monotonic()
    code = remote.capture(request(tmp_path), ["a=root@host"], peer(tmp_path, READY + steps), False)
    assert time.monotonic() - began < WAIT_SECONDS / 2, "it was not waited for"
    assert code == 1
    said = capsys.readouterr().err
    assert "error: a: " in said
    assert "Traceback" not in said
    left = {path.name for path in tmp_path.iterdir()}
    assert left <= {"peer.py", "x", "run-a.pcapng"}
    assert (tmp_path / "x").read_text() == "precious"


def test_two_signals_end_the_wait_for_a_silent_host(tmp_path: Path) -> None:
    words = ["capture", "--host", "a=root@host,lo", "-o", str(tmp_path / "run")]
    shell = peer(tmp_path, [*READY, '{"told": "recording"}'], WAIT_SECONDS)
    process = Capture([sys.executable, "-m", "l4strace", *words, "--ssh", shell])
    process.wait_for("a: recording")
    # Not one of them twice: two at once are one.
    for number in (signal.SIGTERM, signal.SIGINT):
        process.send_signal(number)
    _, err = process.communicate(timeout=WAIT_SECONDS / 2)
    assert process.returncode == 1, err
    assert "interrupted (SIG" in err


def test_a_file_that_is_there_is_not_written_through(tmp_path: Path) -> None:
    """It was free when asked for; a link may have come since."""
    host = ssh.Host("a", "root@host", ("lo",), held=b'{"file": "run.pcapng", "size": 3}\nabc')
    (tmp_path / "run.pcapng").symlink_to(tmp_path / "other")
    with pytest.raises(FileExistsError):
        host.fetch(tmp_path / "run")
    assert not (tmp_path / "other").exists()
    (tmp_path / "run.pcapng").unlink()
    host.held = b'{"file": "run.pcapng", "size": 3}\nabc{"end": 0}\n'
    assert host.fetch(tmp_path / "run") == {str(tmp_path / "run.pcapng"): 3}
    assert (tmp_path / "run.pcapng").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["run.pcapng"]


def test_a_clock_is_written_into_the_file_itself_and_through_no_link(tmp_path: Path) -> None:
    times = [{"at_ns": at, "offset_ns": 5, "uncertainty_ns": 1} for at in (1, 2)]
    host = ssh.Host("a", "root@host", ("lo",), clock=times)
    described = tmp_path / "run.host.json"
    described.write_text('{"kernel": {}}' + " " * 4000)
    remote.add_clock(host, tmp_path / "run")
    told = json.loads(described.read_text())
    assert set(told) == {"kernel", "clock_vs_controller"}
    other = described.rename(tmp_path / "other")
    before = other.read_bytes()
    described.symlink_to(other)
    remote.add_clock(host, tmp_path / "run")
    assert other.read_bytes() == before


def test_the_target_is_no_option_of_ssh(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []

    def refuse(command: list[str], **_: object) -> None:
        started.append(command)
        raise FileNotFoundError

    monkeypatch.setattr(subprocess, "Popen", refuse)
    with pytest.raises(FileNotFoundError):
        ssh.Host("a", "root@host", ("lo",)).begin("ssh -p 22", [])
    (command,) = started
    assert command[command.index("root@host") - 1] == "--"
    assert command[-1].startswith("python3 -I -c ")


def test_a_message_keeps_what_it_may_hold_and_nothing_else() -> None:
    told = message(b'{"told": "' + b"x" * 9000 + b'", "unknown": 1, "status": {"bytes": 5}}')
    assert told == {"told": "x" * 500, "status": {"bytes": 5}}
    assert message(b"Last login: today") is None
    with pytest.raises(MessageError, match="size is not a count"):
        message(b'{"size": true}')
