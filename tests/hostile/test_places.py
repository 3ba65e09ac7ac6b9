"""Where results go: nothing that the user owns is replaced, nothing hangs, nothing is a bug."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from l4strace.capture import request
from l4strace.commands import destination
from l4strace.errors import OutputError, UsageError

GENERATOR = '<meta name="generator" content="l4strace'


def run(*words: object, **options) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "l4strace", *map(str, words)]
    return subprocess.run(command, capture_output=True, timeout=120, **options)


def one_error(done: subprocess.CompletedProcess[bytes]) -> bool:
    text = done.stderr.decode()
    return text.startswith("error: ") and "Traceback" not in text and "bug" not in text


@pytest.mark.parametrize("command", [("diagnose",), ("export", "flows")])
def test_links_and_foreign_files_stay(call, sample: Path, tmp_path: Path, command):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (tmp_path / "empty").touch()
    (tmp_path / "link").symlink_to(mine)
    (tmp_path / "dangling").symlink_to(tmp_path / "nothing")
    (tmp_path / "folder").mkdir()
    for name in ("mine", "empty", "link", "dangling", "folder"):
        refused = call(*command, sample, "-o", tmp_path / name)
        assert isinstance(refused.exception, UsageError), name
    assert mine.read_text() == "mine"
    assert (tmp_path / "empty").stat().st_size == 0
    assert (tmp_path / "link").is_symlink()
    assert not (tmp_path / "nothing").exists()


def test_force_replaces_a_file_but_no_link(call, sample: Path, tmp_path: Path):
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (tmp_path / "link").symlink_to(mine)
    refused = call("diagnose", sample, "--force", "-o", tmp_path / "link")
    assert isinstance(refused.exception, UsageError)
    assert mine.read_text() == "mine"
    assert call("diagnose", sample, "--force", "-o", mine).exit_code == 1
    assert GENERATOR in mine.read_text()


@pytest.mark.root
def test_devices_are_written_through_and_stay(sample: Path, tmp_path: Path):
    null = tmp_path / "null"
    os.mknod(null, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    disk = tmp_path / "disk"
    os.mknod(disk, 0o600 | stat.S_IFBLK, os.makedev(7, 200))
    assert run("diagnose", sample, "-o", null).returncode == 1
    assert stat.S_ISCHR(null.lstat().st_mode)
    assert run("diagnose", sample, "-o", disk).returncode == 2
    assert stat.S_ISBLK(disk.lstat().st_mode)


@pytest.mark.parametrize(
    "command", [("diagnose",), ("export", "flows"), ("export", "rounds", "-f", "parquet")]
)
def test_a_full_disk_is_one_line_and_3(sample: Path, command):
    done = run(*command, sample, "-o", "/dev/full")
    assert (done.returncode, one_error(done)) == (3, True)


@pytest.mark.parametrize("place", ["/nowhere/out.csv", "/proc/out.csv"])
@pytest.mark.parametrize(
    "command",
    ["diagnose {} -o", "export flows {} -o", "figures {} -o", "redact {} -o", "capture -i lo -o"],
)
def test_a_place_that_cannot_be_written_is_one_line_and_3(sample: Path, command: str, place: str):
    done = run(*command.format(sample).split(), place)
    assert (done.returncode, one_error(done)) == (3, True), done.stderr


@pytest.mark.parametrize("words", [("diagnose",), ("flows",), ("export", "rounds"), ("--help",)])
def test_a_standard_output_that_is_full_is_one_line_and_3(sample: Path, words):
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-m", "l4strace", *words]
        command += [] if words == ("--help",) else [str(sample)]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, timeout=120)
    assert (done.returncode, one_error(done)) == (3, True)


@pytest.mark.parametrize("words", [("diagnose", "-o", "-"), ("export", "rounds")])
def test_a_reader_that_went_away_is_no_error(sample: Path, words):
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "l4strace", *words, str(sample)]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, timeout=120)
    os.close(writer)
    assert done.returncode in (0, 1)
    assert b"error: " not in done.stderr


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_names_of_standard_output(sample: Path, name: str):
    done = run("diagnose", sample, "-o", name)
    assert done.returncode == 1
    assert done.stdout.startswith(b"<!doctype html>")
    assert done.stdout.rstrip().endswith(b"</html>")


def test_a_pipe_with_a_reader_gets_the_page(call, sample: Path, tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    call("diagnose", sample, "-o", pipe)
    reader.join(300)
    assert got[0].rstrip().endswith(b"</html>")
    assert stat.S_ISFIFO(pipe.lstat().st_mode)


def test_a_pipe_without_a_reader_is_refused(call, sample: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(destination, "READER_WAIT_S", 0.1)
    os.mkfifo(tmp_path / "pipe")
    refused = call("diagnose", sample, "-o", tmp_path / "pipe")
    assert isinstance(refused.exception, OutputError)
    assert "nobody reads" in str(refused.exception)


def test_a_reader_of_a_pipe_that_goes_away_is_one_error(tmp_path: Path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    place = destination.Destination(str(pipe), lambda _: False)
    os.close(reader)
    with pytest.raises(OutputError, match="went away"), place.opened() as file:
        file.write(b"x" * 100_000)


def test_a_file_that_appears_meanwhile_stays(tmp_path: Path):
    target = tmp_path / "page.html"
    place = destination.Destination(str(target), lambda _: False)

    def write() -> None:
        with place.opened() as file:
            file.write(b"page")
            target.write_text("mine")

    with pytest.raises(UsageError):
        write()
    assert target.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_no_page_is_written_into_a_folder_of_the_system(tmp_path: Path, monkeypatch):
    from l4strace.commands.page_file import _beside

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", lambda *_: True)
    assert _beside("/dev/stdin") == Path("stdin.html")
    assert _beside("/proc/self/fd/0") == Path("0.html")
    assert _beside("/dev/shm/run.pcap") == Path("/dev/shm/run.html")  # noqa: S108 - not opened


def test_charts_do_not_go_behind_a_link(call, sample: Path, tmp_path: Path):
    (tmp_path / "home").mkdir()
    (tmp_path / "charts").symlink_to("home")
    refused = call("figures", sample, "-o", tmp_path / "charts")
    assert isinstance(refused.exception, UsageError)
    assert list((tmp_path / "home").iterdir()) == []


def test_copies_do_not_go_behind_a_link_with_a_slash(call, sample: Path, tmp_path: Path):
    (tmp_path / "home").mkdir()
    (tmp_path / "shared").symlink_to("home")
    refused = call("redact", sample, "-o", f"{tmp_path}/shared/")
    assert isinstance(refused.exception, UsageError)
    assert list((tmp_path / "home").iterdir()) == []


def test_force_of_a_recording_removes_no_folder(tmp_path: Path):
    (tmp_path / "run.pcapng").mkdir()
    (tmp_path / "run.pcapng/mine").touch()
    with pytest.raises(OutputError):
        request.check_free(tmp_path / "run", force=True)
    assert (tmp_path / "run.pcapng/mine").exists()


def test_results_of_a_sweep_do_not_go_behind_a_link(call, tmp_path: Path):
    """`sweep two.csv -o res` once deleted `home/thesis.tex`."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home/thesis.tex").write_text("years")
    (tmp_path / "res").mkdir()
    (tmp_path / "res/sweep.json").write_text("{}")
    (tmp_path / "res/flows").symlink_to("../home")
    (tmp_path / "two.csv").write_text("cca,aqm,goodput\nprague,pie,4\ncubic,pie,5\n")
    refused = call("sweep", tmp_path / "two.csv", "-o", tmp_path / "res")
    assert isinstance(refused.exception, UsageError)
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["thesis.tex"]
