"""What the README says is executed: commands, the JSON contract, the notebook."""

import json
import re
import shlex
import subprocess
import sys

import pytest
import typer.main

from l4strace import cli, rules
from l4strace.schema import TABLES
from tests.support.places import REPOSITORY

README = (REPOSITORY / "README.md").read_text()
SESSIONS = re.findall(r"^\$ l4strace (.*)\n((?:(?!```).*\n)*)```", README, re.MULTILINE)


BLOCKS = re.findall(r"^```(?:sh)?\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
CALLS = sorted(
    {
        found[1]
        for block in BLOCKS
        for line in block.splitlines()
        if (found := re.match(r"(?:\$ )?(?:sudo )?l4strace (\w.*)", line))
    }
)
"""What a reader may copy, pipes and all."""


def l4strace(words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "l4strace", *words.split()],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize(("words", "shown"), SESSIONS)
def test_every_session_prints_what_it_shows(words: str, shown: str):
    assert l4strace(words).stdout.startswith(shown)


def test_there_are_sessions():
    assert len(SESSIONS) >= 2


def test_there_are_calls_to_copy():
    assert len(CALLS) >= 15


@pytest.mark.parametrize("line", CALLS)
def test_a_call_is_understood(line: str):
    words = shlex.split(re.split(r" [|>] ", line)[0], comments=True)
    known = typer.main.get_command(cli.app).commands[words[0]]  # type: ignore[attr-defined]
    assert known.make_context(words[0], words[1:]).params


def test_the_json_contract_has_the_keys_of_the_readme():
    (example,) = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
    promised = json.loads(example)
    printed = json.loads(l4strace("flows --json fixtures/misfire/misfire.pcap.xz").stdout)
    assert list(promised) == list(printed)
    for key in re.findall(r"`(\w+)`", README.split("**a direction** has")[1].split("More keys")[0]):
        if key not in {"lo", "hi", "best"}:
            assert key in printed["flows"][0]["forward"]


def test_the_notebook_example_runs():
    """Its RTT is that of the senders, at least 10 ms: rounds of a receiver have about none."""
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    *statements, last = [line for line in code.splitlines() if line]
    assert len(statements) == 4
    statements[2] = f"print(*{statements[2]}.sort('flow')['rtt_mean_us'].drop_nulls())"
    run = subprocess.run(
        [sys.executable, "-c", "\n".join([*statements, f"print(type({last}))"])],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert "plotly" in run.stdout, run.stderr
    rtt_us = [float(mean) for mean in run.stdout.splitlines()[0].split()]
    assert len(rtt_us) == 4
    assert min(rtt_us) >= 10_000


def test_every_command_family_and_table_is_named():
    for command in cli.COMMANDS:
        assert f"`{command} " in README or f"`{command}`" in README
    for digit in rules.FAMILIES:
        assert f"L4S{digit}xx" in README
    python = README.split("## Python")[1]
    for table in TABLES.keys() - {"packets"}:
        assert re.search(rf"\b{table}\b", python)
