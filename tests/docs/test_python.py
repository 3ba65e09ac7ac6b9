"""`docs/python.md` and the notebooks: their code runs and shows what the text says."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from l4strace.schema import TABLES
from tests.support import pages
from tests.support.places import REPOSITORY

NOTEBOOKS = sorted((REPOSITORY / "docs/examples").glob("*.ipynb"))


@pytest.mark.slow
def test_the_example_runs():
    """Its RTT is that of the senders, at least 10 ms: rounds of a receiver have about none."""
    blocks = [block for language, block in pages.blocks("docs/python.md") if language == "python"]
    opened, acks = ([line for line in block.splitlines() if line] for block in blocks)
    *statements, figure = opened
    assert len(statements) == 4
    statements[2] = f"print(*{statements[2]}.sort('flow')['rtt_mean_us'].drop_nulls())"
    *asked, last = acks
    shows = [f"print(type({figure}))", *asked, f"print(len({last}))"]
    run = subprocess.run(
        [sys.executable, "-c", "\n".join([*statements, *shows])],
        cwd=REPOSITORY, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    rtts, kind, marks = run.stdout.splitlines() or [run.stderr]
    rtt_us = [float(mean) for mean in rtts.split()]
    assert len(rtt_us) == 4
    assert min(rtt_us) >= 10_000
    assert "plotly" in kind
    assert int(marks) > 100


def test_every_table_is_named():
    page = pages.text("docs/python.md")
    missing = [table for table in TABLES if not re.search(rf"\b{table}\b", page)]
    assert missing == [], "the list of tables in docs/python.md"


def shown(notebook: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What each code cell shows: the value of the expression at its end."""
    monkeypatch.chdir(notebook.parent)
    names: dict[str, Any] = {}
    values = []
    for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            last = tree.body.pop()
            assert isinstance(last, ast.Expr)
            exec(compile(tree, str(notebook), "exec"), names)  # noqa: S102 - a notebook of ours
            expression = compile(ast.Expression(last.value), str(notebook), "eval")
            values.append(eval(expression, names))  # noqa: S307
    return values


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_what_it_showed(path: Path):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert not [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")]


def test_the_notebook_on_the_misfire_shows_it(monkeypatch: pytest.MonkeyPatch):
    verdict, share, inputs, (correct, builds), starved, chart = shown(
        REPOSITORY / "docs/examples/misfire.ipynb", monkeypatch
    )
    assert "misfired behind an L4S AQM" in verdict
    assert share == "92% of 1,533 steps above 8"
    assert inputs["mdev_us"].item() < 750
    assert inputs["depth_us"].item() < 2000
    assert (correct, builds) == (0, ["24-bit buggy"])
    assert starved["other_flow"].to_list() == [3]
    assert len(chart.data) > 0
