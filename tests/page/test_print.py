"""The printed page of a real run: heads on each page, whole rows, no half-empty pages."""

from __future__ import annotations

import dataclasses
import re
import subprocess
from pathlib import Path

import polars as pl
import pytest

import l4strace
from l4strace.model import Analysis
from l4strace.page import render
from tests.support import chromium, synthetic
from tests.support.places import FIXTURES

FULL = 0.5
"""Part of a page's height that its text and charts reach, at least."""
FIRST_FULL = 0.85
"""Of the first page: findings follow the verdict, though their first card does not fit."""
DOTS_AN_INCH = 20


@pytest.fixture(scope="module")
def html() -> str:
    return l4strace.open(FIXTURES / "misfire/misfire.pcap.xz").page()


@pytest.fixture(scope="module")
def pdf(browser: chromium.Chromium, html: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("print")
    (folder / "run.html").write_text(html, encoding="utf-8")
    browser.load(folder / "run.html")
    browser.print(folder / "run.pdf")
    return folder / "run.pdf"


def test_each_head_of_a_table_has_a_scope_and_is_one(html: str) -> None:
    assert re.findall(r"<th(?![^>]*scope=)[ >]", html) == []
    tables = re.findall(r"<table[^>]*>\s*<(\w+)", html)
    assert len(tables) > 10
    assert set(tables) <= {"thead", "caption"}


@pytest.mark.needs("pdftotext")
def test_each_page_with_evidence_packets_has_their_head(
    browser: chromium.Chromium, html: str, tmp_path: Path
) -> None:
    """On pages too short for the table."""
    assert "size: A4" in html
    (tmp_path / "run.html").write_text(html.replace("size: A4", "size: 210mm 160mm"), "utf-8")
    browser.load(tmp_path / "run.html")
    browser.print(tmp_path / "run.pdf")
    command = ["pdftotext", "-layout", str(tmp_path / "run.pdf"), "-"]
    made = subprocess.run(command, check=True, capture_output=True)
    pages = made.stdout.decode().split("\f")
    with_rows = [page for page in pages if re.search(r"reports \d+ more CE packet", page)]
    assert len(with_rows) > 1
    for page in with_rows:
        assert re.search(r"frame +t \(s\) +to +IP ECN", page)
        assert "scrolls sideways" not in page


@pytest.mark.needs("pdftotext")
def test_each_page_with_flows_has_their_head(browser: chromium.Chromium, tmp_path: Path) -> None:
    """The buttons in it that sort were left out of the repeated head."""
    run = synthetic.misfire()
    numbers = pl.DataFrame({"number": range(2, 27)}, schema={"number": pl.UInt32})

    def with_many(table: pl.DataFrame) -> pl.DataFrame:
        one = table.filter((pl.col("flow") == 1) & (pl.col("source") == 0))
        more = one.join(numbers, how="cross").with_columns(flow="number").select(table.columns)
        return pl.concat([table, more])

    many = dataclasses.replace(
        run, flows=with_many(run.flows), directions=with_many(run.directions)
    )
    (tmp_path / "run.html").write_text(render(many, Analysis(())), encoding="utf-8")
    browser.load(tmp_path / "run.html")
    browser.print(tmp_path / "run.pdf")
    command = ["pdftotext", "-layout", str(tmp_path / "run.pdf"), "-"]
    made = subprocess.run(command, check=True, capture_output=True).stdout.decode()
    row = re.compile(r"^ *flow \d+ .*bit/s", re.MULTILINE)
    with_rows = [page for page in made.split("\f") if len(row.findall(page)) > 3]
    assert len(with_rows) > 1
    for page in with_rows:
        assert re.search(r"payload +goodput", page)


@pytest.mark.needs("pdftotext")
def test_rules_that_could_not_judge_are_printed_once(pdf: Path) -> None:
    made = subprocess.run(["pdftotext", "-layout", str(pdf), "-"], check=True, capture_output=True)
    text = made.stdout.decode()
    assert "Rules that could not judge" in text
    assert text.count("capture-drops") == 1
    assert "Looked and found nothing" not in text


@pytest.mark.needs("pdftoppm")
def test_no_page_but_the_last_is_half_empty(pdf: Path) -> None:
    command = ["pdftoppm", "-gray", "-r", str(DOTS_AN_INCH), str(pdf), str(pdf.with_suffix(""))]
    subprocess.run(command, check=True)
    pages = sorted(pdf.parent.glob("run-*.pgm"))
    assert len(pages) > 5
    assert [page.name for page in pages[:-1] if reached(page) < FULL] == []
    assert reached(pages[0]) > FIRST_FULL


def reached(page: Path) -> float:
    """The part of a page, from its top, down to the last row of dots that is not white."""
    _, size, _, dots = page.read_bytes().split(b"\n", 3)
    width, height = map(int, size.split())
    rows = (dots[start : start + width] for start in range(0, width * height, width))
    return max(number for number, row in enumerate(rows) if min(row) < 250) / height
