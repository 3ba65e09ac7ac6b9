"""A capture as root in a folder of somebody else: nothing of that folder is run or written to."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.capture.test_endings import assert_readable, begin, end, log_of
from tests.support.network import READY, Network, network, on_the_host
from tests.support.processes import PATIENCE_SECONDS, descendants, find, wait_until

pytestmark = on_the_host
MODULES = ("json", "argparse", "log", "process", "kernel", "host", "run", "packets", "zlib")
NOBODY = 65534


@pytest.fixture(scope="module")
def net() -> Iterator[Network]:
    with network() as made:
        yield made


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder with modules that leave a mark when they are imported."""
    for name in (*MODULES, "sitecustomize", "usercustomize"):
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'mark')!r}, 'w')\n")
    return tmp_path


def run(net: Network, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """`l4strace` started from `folder`, as its installed script starts it."""
    program = [sys.executable, "-P"] if sys.version_info >= (3, 11) else [sys.executable]
    start = "import sys; from l4strace.cli import main; sys.argv[0] = 'l4strace'; main()"
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    return subprocess.run(
        net.command(net.left, *program, "-c", start, *words),
        cwd=folder,
        env=environment,
        text=True,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("where", [[], ["--host", "local,v0"]], ids=["here", "host"])
def test_planted_modules_are_not_run(net: Network, planted: Path, where: list[str]) -> None:
    words = ["-i", "v0", "-o", "run", "--duration", "1", "--kernel", "diag", *where]
    done = run(net, planted, "capture", *words)
    assert done.returncode == 0, done.stderr
    assert not (planted / "mark").exists()


def test_doctor_runs_no_planted_module(net: Network, planted: Path) -> None:
    done = run(net, planted, "doctor")
    assert done.returncode == 0, done.stderr
    assert not (planted / "mark").exists()


def test_every_file_is_for_its_owner_alone(net: Network, tmp_path: Path) -> None:
    done = net.capture("-o", str(tmp_path / "run"), "--duration", "1", "--kernel", "diag")
    assert done.returncode == 0, done.stderr
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == dict.fromkeys(("run.pcapng", "run.kernel.ndjson.zst", "run.host.json"), 0o600)


def test_the_second_capture_to_one_name_is_refused(net: Network, tmp_path: Path) -> None:
    stem = tmp_path / "run"
    first = begin(net, stem, "--kernel", "diag")
    command = [sys.executable, "-I", "collectors", "record", "-i", net.left_device]
    second = net.run(net.left, *command, "-o", str(stem), "--duration", "1")
    assert second.returncode == 4
    assert "File exists" in second.stderr
    third = net.capture("-o", str(stem), "--duration", "1")
    assert third.returncode == 2
    first.send_signal(signal.SIGINT)
    end(first)
    assert assert_readable(stem) > 100
    assert log_of(stem)[-1]["type"] == "trailer"


@pytest.mark.parametrize("name", ["run.host.json.part", "run.pcapng", "run.kernel.ndjson.zst"])
def test_planted_links_lead_nowhere(net: Network, tmp_path: Path, name: str) -> None:
    other = tmp_path / "other"
    other.write_text("precious")
    (tmp_path / name).symlink_to(other)
    net.capture("-o", str(tmp_path / "run"), "--duration", "1", "--kernel", "diag")
    assert other.read_text() == "precious"


PLANTS: dict[str, Callable[[Path, Path], None]] = {
    "file": lambda at, _: at.write_text("ours"),
    "link": lambda at, other: at.symlink_to(other),
    "link to nothing": lambda at, other: at.symlink_to(other.with_name("nothing")),
    "pipe": lambda at, _: os.mkfifo(at),
    "folder": lambda at, _: at.mkdir(),
}


def shown(folder: Path) -> dict[str, tuple[int, ...]]:
    """What lies in a folder, to the last change of each."""
    found = ((path.name, path.lstat()) for path in folder.iterdir())
    return {name: (s.st_ino, s.st_mode, s.st_uid, s.st_size, s.st_mtime_ns) for name, s in found}


@pytest.mark.parametrize("kind", PLANTS)
@pytest.mark.parametrize("name", ["run.pcapng", "run.kernel.ndjson.zst", "run.host.json"])
def test_what_another_user_put_there_is_not_touched(
    net: Network, tmp_path: Path, name: str, kind: str
) -> None:
    """By the program that records, which asks nobody whether the name is free."""
    other = tmp_path / "other"
    other.write_text("precious")
    PLANTS[kind](tmp_path / name, other)
    for path in (tmp_path, *tmp_path.iterdir()):
        os.chown(path, NOBODY, NOBODY, follow_symlinks=False)
    before = shown(tmp_path)
    command = [sys.executable, "-I", "collectors", "record", "-i", net.left_device]
    words = ["-o", str(tmp_path / "run"), "--duration", "1", "--kernel", "diag"]
    done = net.run(net.left, *command, *words)
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    after = shown(tmp_path)
    assert {name: after.get(name) for name in before} == before
    assert set(after) - set(before) <= {"run.pcapng", "run.kernel.ndjson.zst", "run.host.json"}


def test_kill_9_of_everything_loses_a_second(net: Network, tmp_path: Path) -> None:
    """Packets and the log of all but the last moment are there, and open."""
    stem = tmp_path / "run"
    process = begin(net, stem, "--kernel", "tracefs", "--packets", "tcpdump")
    wait_until(lambda: len(log_of(stem)) > 100, "100 lines on the disk")
    before = len(log_of(stem))
    for pid in [*descendants(process.pid), process.pid]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    end(process)
    assert len(log_of(stem)) >= before
    assert assert_readable(stem) > 100
    assert json.loads((tmp_path / "run.host.json").read_text())["complete"] is False


def test_the_commands_exit_code_is_handed_on(net: Network, tmp_path: Path) -> None:
    words = ["-o", str(tmp_path / "run"), "--kernel", "diag", "--", "sh", "-c", "exit 7"]
    done = net.capture(*words)
    assert done.returncode == 7
    assert "the command ended (exit code 7)" in done.stderr
    capture = json.loads((tmp_path / "run.host.json").read_text())["capture"]
    assert (capture["command"], capture["command_exit"]) == ("sh -c 'exit 7'", 7)


@pytest.mark.parametrize("backend", ["dumpcap", "tcpdump", "ring"])
def test_a_number_of_packets_ends_it(net: Network, tmp_path: Path, backend: str) -> None:
    words = ["-o", str(tmp_path / "run"), "-c", "50", "--kernel", "none", "--packets", backend]
    process = net.start_capture(*words)
    process.wait_for(*READY)
    net.transfer(1)
    _, err = end(process)
    assert process.returncode == 0, err
    assert "the number of packets is reached" in err
    assert assert_readable(tmp_path / "run") == 50


@pytest.mark.parametrize("backend", ["dumpcap", "tcpdump", "ring"])
def test_any_interface(net: Network, tmp_path: Path, backend: str) -> None:
    program = [sys.executable, "-m", "l4strace", "capture", "-i", "any", "--packets", backend]
    words = ["-o", str(tmp_path / "run"), "--kernel", "none", "--", *net.send(1)]
    done = net.run(net.left, *program, *words)
    assert done.returncode == 0, done.stderr
    assert assert_readable(tmp_path / "run") > 100


def test_kernel_state_without_packets(net: Network, tmp_path: Path) -> None:
    words = ["-o", f"{tmp_path}/new/", "--packets", "none", "--kernel", "tracefs"]
    done = net.capture(*words, "--", *net.send(1))
    assert done.returncode == 0, done.stderr
    assert "packets: none" in done.stderr
    (log,) = (tmp_path / "new").glob("l4strace-*.kernel.ndjson.zst")
    assert f"next: l4strace diagnose {log}" in done.stdout
    assert list((tmp_path / "new").glob("*.pcapng")) == []


def offloads(net: Network) -> dict[str, bool]:
    """Which of the offloads that merge packets are on."""
    code = "import json, sys; sys.path.insert(0, 'collectors'); from host import interfaces as i;"
    code += (
        f"o = i.offloads({net.left_device!r}); print(json.dumps({{k: o[k] for k in i.MERGING}}))"
    )
    found: dict[str, bool] = json.loads(net.run(net.left, sys.executable, "-c", code).stdout)
    return found


def test_offloads_are_off_during_the_run_and_as_before_after_it(
    net: Network, tmp_path: Path
) -> None:
    before = offloads(net)
    assert any(before.values())
    process = begin(net, tmp_path / "run", "--kernel", "none", "--offloads", "off")
    assert not any(offloads(net).values())
    process.send_signal(signal.SIGTERM)
    _, err = end(process)
    assert process.returncode == 0, err
    assert offloads(net) == before


def test_offloads_that_a_killed_run_left_are_restored_by_the_next(
    net: Network, tmp_path: Path
) -> None:
    before = offloads(net)
    process = begin(net, tmp_path / "run", "--kernel", "none", "--offloads", "off")
    os.kill(find(process.pid, "collectors record"), signal.SIGKILL)
    end(process)
    assert before != offloads(net)
    assert not any(offloads(net).values())
    done = net.capture("-o", str(tmp_path / "next"), "--duration", "1", "--kernel", "none")
    assert "which a killed capture had left off" in done.stderr
    assert offloads(net) == before


def test_offloads_that_merge_packets_are_in_the_last_lines(net: Network, tmp_path: Path) -> None:
    done = net.capture("-o", str(tmp_path / "run"), "--duration", "1", "--kernel", "none")
    assert "note: v0 merges packets (TSO GSO)" in done.stderr
    host = json.loads((tmp_path / "run.host.json").read_text())
    assert "merges packets" in host["capture"]["notes"][0]
