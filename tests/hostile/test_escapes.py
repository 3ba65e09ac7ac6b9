"""Strings of captures, logs, host files and file names show as they are in every output."""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as Xml

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from l4strace import console, pipeline
from l4strace.capture import summary
from l4strace.evidence import Evidence
from l4strace.model import Analysis
from l4strace.output import flow_lines, junit, markdown, sarif, text
from l4strace.output import json as as_json
from l4strace.page import render
from tests.support import chromium
from tests.support.hostile import captures, logs
from tests.support.hostile.texts import MARK, TEXTS

SCRIPTS = 5
"""Elements of that name below a page's body: data, and the page's own script."""
HOSTILE = st.one_of(
    st.sampled_from(TEXTS[:-2]),
    st.text(st.characters(categories=["Cc", "Cf", "Zl", "Zp", "L", "P", "Sm"]), max_size=20),
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Evidence, Analysis]:
    """A capture with companions, all of them with hostile strings but otherwise sound."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "run.pcapng").write_bytes(captures.pcapng(random.Random(3)))
    (folder / "run.host.json").write_bytes(logs.host(random.Random(1)))
    for seed in range(50):
        (folder / "run.kernel.ndjson").write_bytes(logs.kernel_log(random.Random(seed)))
        evidence = pipeline.derive(pipeline.read([str(folder / "run.pcapng")]))
        if evidence.kernel.height:
            return evidence, pipeline.judge(evidence)
    raise AssertionError("no seed gives a log with samples")


def poisoned(evidence: Evidence, analysis: Analysis, word: str) -> tuple[Evidence, Analysis]:
    """``word`` in every text that comes from an input, and in a finding of each rule."""
    word = word.encode("utf-8", "replace").decode()
    changed = replace(
        evidence,
        sources=evidence.sources.with_columns(path=pl.lit(word), comment=pl.lit(word)),
        flows=evidence.flows.with_columns(client=pl.lit(word), server=pl.lit(word)),
        stats=evidence.stats.with_columns(detail=pl.lit(word)),
        kernel=evidence.kernel.with_columns(cc=pl.lit(word)),
        hosts=evidence.hosts.with_columns(subject=pl.lit(word), value=pl.lit(word)),
    )
    findings = tuple(replace(f, message=f"{word}: {f.message}") for f in analysis.findings)
    skipped = tuple(s._replace(reason=word) for s in analysis.skipped)
    return changed, replace(analysis, findings=findings, skipped=skipped)


def drives_nothing(shown: str) -> bool:
    return all(c.isprintable() or c == "\n" for c in shown)


@settings(max_examples=60, deadline=None)
@given(word=HOSTILE)
def test_no_text_of_an_input_drives_a_terminal_or_breaks_a_format(run, word: str) -> None:
    evidence, analysis = poisoned(*run, word)
    plain = text.render(evidence, analysis, color=False)
    assert drives_nothing(plain)
    document, sarif_text = as_json.render(evidence, analysis), sarif.render(evidence, analysis)
    assert drives_nothing(document)
    assert drives_nothing(sarif_text)
    assert json.loads(document)["sources"][0]["path"] == evidence.sources["path"][0]
    json.loads(sarif_text)
    Xml.fromstring(junit.render(evidence, analysis))  # noqa: S314 - our own output
    written = markdown.render(evidence, analysis)
    assert drives_nothing(written.replace(f"@{markdown.WORD_JOINER}", "@"))
    # A backslash before it makes it text; so does inline code.
    assert not re.search(r"(?<!\\)(<img|<script|\]\(javascript)", re.sub(r"`[^`]*`", "", written))
    rows = list(flow_lines.table(flow_lines.rows(evidence)))
    assert len(rows) <= 2 + 4 * evidence.flows.height
    assert all(line.isprintable() for line in rows)


@pytest.mark.parametrize("word", TEXTS[:14], ids=range(14))
def test_the_page_executes_nothing(run, word: str) -> None:
    evidence, analysis = poisoned(*run, word)
    page = render(evidence, analysis, command=f"l4strace {word}")
    for script in (
        f"<script>document.title='{MARK}'",
        f"<img src=x onerror=\"document.title='{MARK}'",
    ):
        assert script not in page
    # Attributes are quoted: an event handler stays text within them.
    assert not re.search(rf"<[a-z][^>]*\son\w+=document\.title='{MARK}'", page)
    assert "\x1b" not in page


@pytest.mark.parametrize("word", TEXTS[:14], ids=range(14))
def test_a_browser_executes_nothing(
    browser: chromium.Chromium, run, word: str, tmp_path: Path
) -> None:
    """What a reader does with it included: everything is unfolded, and the table is sorted."""
    evidence, analysis = poisoned(*run, word)
    page = tmp_path / "run.html"
    page.write_text(render(evidence, analysis, command=f"l4strace {word}"), encoding="utf-8")
    browser.load(page)
    browser.evaluate(
        "document.querySelectorAll('details').forEach(d => { d.open = true; });"
        "document.querySelector('#flow-table th button')?.click()"
    )
    assert not browser.evaluate("document.title").startswith(MARK)
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.evaluate("document.querySelectorAll('body script').length") <= SCRIPTS
    assert browser.complaints == []


def test_a_forged_line_of_the_flow_table(tmp_path: Path, call) -> None:
    path = tmp_path / "x.kernel.ndjson"
    header = {
        "type": "header",
        "format": "l4strace-kernel-log",
        "version": 1,
        "fields": logs.FIELDS,
    }
    bad = {"type": "sample", "ts_ns": 5, "event": "ack", "sk": "1", "sport": 1, "dport": 2,
           "saddr": "x\n1     10.0.0.1:1 > 10.0.0.2:2", "daddr": "\x1b[31my"}  # fmt: skip
    path.write_text(json.dumps(header) + "\n" + json.dumps(bad) + "\n")
    shown = call("flows", path).stdout
    assert drives_nothing(shown)
    assert len(shown.splitlines()) == 3
    for kind in ("csv", "ndjson"):
        assert drives_nothing(call("export", "flows", path, "-f", kind).stdout)
        assert drives_nothing(call("export", "kernel", path, "-f", kind).stdout)


def test_the_next_command_is_one_word_a_file() -> None:
    shown = summary.next_step([Path("a b.pcapng"), Path("x\n\x1b[31m'\\.pcapng")])
    assert shown == r"next: l4strace diagnose 'a b.pcapng' $'x\x0a\x1b[31m\'\\.pcapng'"


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), min_size=1))
def test_a_shell_reads_the_word_back(name: str) -> None:
    import os
    import subprocess

    word = console.shell_word(name)
    assert word.isprintable()
    if name.isprintable() or not name.encode("utf-8", "surrogateescape"):
        return
    done = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True)
    assert done.stdout == os.fsencode(name)
