"""The conventions that every command keeps."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from l4strace import cli
from tests.support.places import REPOSITORY

HELP_SECONDS = 0.5
"""Of cpu: four times what it takes, for slower and busier machines."""
HEAVY = ("polars", "l4strace.core._native", "plotly", "jinja2", "rich")


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "l4strace", *words], capture_output=True, text=True, timeout=300
    )


def help_of(*words: str) -> str:
    result = CliRunner().invoke(cli.app, [*words, "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    return result.output


def test_no_arguments_print_help_and_exit_2():
    result = run()
    assert result.returncode == 2
    assert "Usage: l4strace" in result.stdout + result.stderr


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_help_ends_with_two_real_examples_in_80_columns(command: str):
    text = help_of(command)
    examples = text.split("Examples:")[1].split("Arguments:")[0].split("Options:")[0]
    assert len(re.findall(rf"^ +(?:sudo )?l4strace {command}\b", examples, re.MULTILINE)) == 2
    assert max(len(line) for line in text.splitlines()) <= 80


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_option_is_explained_without_the_one_above(command: str):
    options = help_of(command).partition("Options:")[2]
    assert re.findall(r"likewise|will do|so many|The same|<str>|<int range>", options) == []
    assert re.findall(r"\[default: [^]]*\]\s+\[default:", options) == []


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("diagnose", "[OPTIONS] FILE..."),
        ("export", "[OPTIONS] TABLE FILE..."),
        ("sweep", "[OPTIONS] SOURCE..."),
        ("compare", "[OPTIONS] A [B]"),
        ("explain", "[OPTIONS] [RULE]"),
    ],
)
def test_usage_states_what_may_be_repeated_and_left_out(command: str, usage: str):
    assert help_of(command).splitlines()[0] == f"Usage: l4strace {command} {usage}"


def test_no_command_is_cut_short_in_80_columns():
    commands = help_of().partition("Commands:")[2].splitlines()[1:]
    assert len(commands) == len(cli.COMMANDS)
    assert [line for line in commands if not line.endswith(".") or line.endswith("...")] == []


def test_exit_codes_are_in_the_help():
    text = " ".join(help_of().split())
    for code in (
        "0 success",
        "1 findings",
        "2 wrong usage",
        "3 unreadable",
        "4 a collector",
        "70 a bug",
        "130",
    ):
        assert code in text


def test_help_loads_nothing_heavy():
    code = (
        "import sys; from l4strace import cli; from typer.testing import CliRunner\n"
        "before = set(sys.modules)\n"
        "assert CliRunner().invoke(cli.app, ['--help']).exit_code == 0\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_command_loads_no_other_command():
    code = (
        "import sys; from l4strace import cli; from typer.testing import CliRunner\n"
        "assert CliRunner().invoke(cli.app, ['explain', '--help']).exit_code == 0\n"
        "loaded = {name.removeprefix('l4strace.commands.') for name in sys.modules}\n"
        "print(loaded.intersection(cli.COMMANDS))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "{'explain'}"


def test_help_is_instant():
    code = (
        "import sys, time; from l4strace.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "print(time.process_time(), file=sys.stderr)"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        for _ in range(3)
    ]
    assert min(float(r.stderr) for r in runs) < HELP_SECONDS


def test_unknown_command_suggests_the_near_one():
    result = run("diagnos")
    assert result.returncode == 2
    assert "diagnose" in result.stderr


@pytest.mark.parametrize("command", ["diagnose", "flows"])
def test_a_missing_file_is_one_line_and_exit_3(command: str):
    result = run(command, "no-such.pcap")
    assert result.returncode == 3
    assert result.stderr.startswith("error: no-such.pcap: ")
    assert "Traceback" not in result.stderr
    assert not result.stdout


def test_errors_and_hints_fit_the_terminal_and_keep_names_whole(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "60")
    name = "a folder that is not there/and a capture with a long name.pcap"
    lines = run("diagnose", name).stderr.splitlines()
    assert any(name in line for line in lines)
    lines = run("export", "no-such-table", "x.pcap").stderr.splitlines()
    assert lines[0].startswith("error: no table")
    assert len(lines) > 2
    assert max(map(len, lines)) <= 60


@pytest.mark.parametrize(
    ("program", "blocked"),
    [("-m l4strace flows run.pcap", "typer"), ("collectors record -i lo -o run", "tempfile")],
)
def test_an_interrupt_before_anything_began_is_quiet(tmp_path: Path, program: str, blocked: str):
    """Ctrl-C reaches all processes of a terminal, while they still import."""
    interrupt = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n"
    (tmp_path / f"{blocked}.py").write_text(interrupt)
    command = [sys.executable, *program.split()]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{REPOSITORY}"}
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, timeout=50)
    assert (done.returncode, done.stdout, done.stderr) == (130, b"", b"")


def test_a_short_command_looks_for_no_garbage_at_its_end():
    code = (
        "import os, sys; from l4strace.cli import main\n"
        "class Found:\n"
        "    def __init__(self): self.own = self\n"
        "    def __del__(self, write=os.write): write(1, b'found')\n"
        "sys.argv = ['l4strace', 'explain', 'L4S301']\n"
        "try: main()\n"
        "finally: Found()\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "fallback-misfire" in ran.stdout
    assert not ran.stdout.endswith("found")
