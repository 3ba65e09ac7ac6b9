"""The terminal: colour rules, progress, what reaches which stream."""

import io
import sys

import pytest

from l4strace import console


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch):
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")


def test_colour_only_on_a_terminal():
    assert console.colored(Terminal())
    assert not console.colored(io.StringIO())


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_can_be_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str):
    monkeypatch.setenv(name, value)
    assert not console.colored(Terminal())


def test_an_empty_NO_COLOR_refuses_nothing(monkeypatch: pytest.MonkeyPatch):  # noqa: N802
    monkeypatch.setenv("NO_COLOR", "")
    assert console.colored(Terminal())


def test_colour_can_be_forced_but_the_switch_wins(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert console.colored(io.StringIO())
    console.configure(console.Settings(no_color=True))
    assert not console.colored(io.StringIO())


def test_control_characters_are_shown_not_obeyed():
    assert console.printable("a\x1b[2Jb\x07\nc") == "a\\x1b[2Jb\\x07\nc"


def progress(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, seconds: list[float]) -> str:
    clock = iter(seconds)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(console.time, "monotonic", lambda: next(clock))
    with console.Progress("reading") as shown:
        for _ in seconds[1:]:
            shown(25, 100)
    return stream.getvalue()


def test_progress_waits_half_a_second_and_is_taken_away(monkeypatch: pytest.MonkeyPatch):
    assert progress(monkeypatch, Terminal(), [0, 0.4]) == ""
    shown = progress(monkeypatch, Terminal(), [0, 0.6])
    assert "\rreading:  25 %" in shown
    assert shown.endswith("\r\x1b[K")


def test_progress_in_a_log_is_a_plain_line_every_ten_seconds(monkeypatch: pytest.MonkeyPatch):
    shown = progress(monkeypatch, io.StringIO(), [0, 1, 9, 11, 15, 22])
    assert shown.splitlines() == ["reading:  25 %, 11 s", "reading:  25 %, 22 s"]


def test_quiet_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    console.configure(console.Settings(quiet=True))
    console.note("hello")
    assert progress(monkeypatch, Terminal(), [0, 5]) == ""
    assert capsys.readouterr().err == ""


def test_an_error_is_one_line_and_a_hint(capsys: pytest.CaptureFixture[str]):
    console.fail("run.pcap: no capture", "Name a capture.")
    assert capsys.readouterr().err == "error: run.pcap: no capture\nName a capture.\n"
