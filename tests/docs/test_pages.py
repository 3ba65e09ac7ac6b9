"""What README and docs show is executed: every session, every call, every piece of Python."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from l4strace import cli
from l4strace.ingest.files import BESIDE
from tests.support import pages
from tests.support.places import REPOSITORY

RECORDING = ("capture", "watch")
"""They need rights and traffic: their options are parsed, `tests/capture` runs them."""
ELSEWHERE = re.compile(r"--scheduler|s3://")
"""Runs on other machines: parsed; `tests/studies/test_cluster.py` runs them."""
WITH_CALLS = [page for page in pages.PAGES if any(pages.calls(b) for _, b in pages.blocks(page))]
SESSIONS = [
    (words, shown)
    for page in pages.PAGES
    for _, block in pages.blocks(page)
    for words, shown in re.findall(r"^\$ l4strace (.*)\n((?:.*\n)*)", block)
]
LINKED = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def l4strace(words: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "l4strace", *words],
        cwd=folder, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


@pytest.mark.parametrize(("words", "shown"), SESSIONS)
def test_every_session_prints_what_it_shows(words: str, shown: str):
    assert l4strace(shlex.split(words), REPOSITORY).stdout.startswith(shown)


def test_there_are_sessions_and_calls():
    assert len(SESSIONS) >= 2
    assert {"README.md", *(f"docs/{n}.md" for n in ("usage", "capture", "studies", "faq"))} <= set(
        WITH_CALLS
    )


@pytest.mark.slow
@pytest.mark.parametrize("page", WITH_CALLS)
def test_every_call_and_script_of_a_page_runs(page: str, tmp_path: Path):
    """In the order of the page, in one folder: a later one may read what an earlier one wrote."""
    pages.stand_ins(page, tmp_path)
    for language, block in pages.blocks(page):
        if language == "python":
            done = subprocess.run(
                [sys.executable, "-c", block],
                cwd=tmp_path, capture_output=True, text=True, timeout=120,
            )  # fmt: skip
            assert done.returncode == 0, block + done.stderr
        for call in pages.calls(block):
            run_or_parse(call, tmp_path)


def run_or_parse(call: str, folder: Path) -> None:
    """A call runs as it stands, globs expanded; what cannot run here is parsed."""
    words = shlex.split(call)
    asks_wireshark = words[0] == "verify" and not shutil.which("tshark")
    if words[0] in RECORDING or asks_wireshark or ELSEWHERE.search(call):
        known = typer.main.get_command(cli.app).commands[words[0]]  # type: ignore[attr-defined]
        assert known.make_context(words[0], words[1:]).params, call
        return
    expanded = [
        name
        for word in words
        for name in (sorted(p.name for p in folder.glob(word)) if "*" in word else [word])
    ]
    done = l4strace(expanded, folder)
    # 1: there are findings, or measures that became worse.
    assert done.returncode in (0, 1), f"{call}\n{done.stderr}"
    assert "Traceback" not in done.stderr, f"{call}\n{done.stderr}"


@pytest.mark.parametrize("page", [*pages.PAGES, "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_every_link_leads_to_a_file(page: str):
    folder = (REPOSITORY / page).parent
    gone = [link for link in LINKED.findall(pages.text(page)) if not (folder / link).exists()]
    assert gone == []


def test_usage_names_all_that_is_found_beside_a_capture():
    named = pages.text("docs/usage.md")
    endings = [ending for endings in BESIDE.values() for ending in endings]
    assert [ending for ending in endings if f"`run{ending}" not in named] == []
