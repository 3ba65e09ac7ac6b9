"""The page of a sweep in a browser: drawn offline, readable by all, and deaf to hostile names."""

from __future__ import annotations

import importlib.resources
import json
import math
import random
import struct
from base64 import b64decode
from pathlib import Path
from urllib.parse import unquote

import polars as pl
import pytest

from l4strace.comparison import comparison, overlay, sides
from l4strace.comparison import page as compare_page
from l4strace.schema.sweep import SWEEP_TABLES
from l4strace.studies import page, pool, study, summary
from l4strace.studies.cells import Tables
from l4strace.studies.measures import QUANTITIES
from l4strace.studies.planned import Done
from l4strace.studies.sources import elsewhere
from tests.support import chromium

EVIL = "</script><img src=x onerror=\"document.title='owned'\">"
MOST_BYTES = 5_000_000


def sweep(runs_per_cell: int = 3, evil: str = "=1+1" + EVIL) -> Tables:
    """Two AQMs, five rates, four RTTs, two kernels; names and values are hostile."""
    frame = pl.DataFrame(
        [
            {evil: kernel, "aqm": aqm, "rate": rate, "rtt": rtt, "i": i,
             "prague throughput": (10 + i + rtt / 9) * 1e6, "cubic throughput": 4e7}
            for kernel in (f"old{evil}", "new") for aqm in ("codel", "dualpi2")
            for rate in (4, 8, 16, 32, 64) for rtt in (4, 8, 16, 32) for i in range(runs_per_cell)
        ]
    )  # fmt: skip
    tables = {name: table.empty() for name, table in SWEEP_TABLES.items()}
    tables |= elsewhere.tables(frame, f"study{evil}")
    broken = (
        tables["runs"]
        .head(1)
        .with_columns(run=pl.lit(f"broken{evil}"), status=pl.lit("failed"), error=pl.lit(evil))
    )
    return tables | {"runs": pl.concat([tables["runs"], broken])}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("sweep") / "index.html"
    place.write_text(page.render(sweep(), f"study{EVIL}"), encoding="utf-8")
    return place


def test_ten_thousand_runs_stay_below_five_megabytes():
    html = page.render(sweep(runs_per_cell=125, evil="kernel"), "study")
    assert html.count("studykernel:") >= 10_000
    assert len(html.encode()) < MOST_BYTES


def study_of(runs: int) -> Tables:
    """Every measure and many findings of runs with long names, their parameters at random."""
    chance = random.Random(6)
    names = [f"study/of/{'x' * 90}/{number:05d}" for number in range(runs)]
    tables = {name: table.empty() for name, table in SWEEP_TABLES.items()}
    axes = {"rate": 64, "rtt": 64, "seed_a": 8, "seed_b": 8}
    drawn = {f"p_{axis}": [chance.randrange(n) for _ in names] for axis, n in axes.items()}
    measures = pl.DataFrame({"run": names}).join(
        pl.DataFrame({"name": list(QUANTITIES)}), how="cross"
    )
    rules = [f"L4S{number}" for number in range(300, 340)]
    hits = pl.DataFrame({"run": names[::3]}).join(pl.DataFrame({"rule": rules}), how="cross")
    value = pl.Series([chance.random() for _ in range(measures.height)])
    return tables | {
        "runs": pl.DataFrame({"run": names, "status": "ok", "error": None, **drawn}),
        "measures": SWEEP_TABLES["measures"].conform(measures.with_columns(value=value)),
        "findings": SWEEP_TABLES["findings"].conform(hits.with_columns(severity=pl.lit("error"))),
    }


def test_ten_thousand_runs_of_no_plan_open_in_two_seconds(
    browser: chromium.Chromium, tmp_path: Path
):
    """In cpu time of the page: a busy machine takes longer for it."""
    tables = study_of(10_000)
    pages = {run: study.page_name(run) for run in tables["runs"]["run"]}
    place = tmp_path / "index.html"
    html = page.render(tables, "study", pages)
    place.write_text(html, encoding="utf-8")
    assert len(html.encode()) < MOST_BYTES
    browser.load(place)
    assert browser.busy_s() < 2
    assert 3000 <= browser.evaluate("document.querySelectorAll('.map td').length") <= 20_000
    browser.evaluate("document.querySelector('.map button').click()")
    name = browser.evaluate("document.querySelector('#cell-body th a').textContent")
    link = browser.evaluate("document.querySelector('#cell-body th a').getAttribute('href')")
    assert unquote(link) == pages[name]


def test_it_is_drawn_offline_and_hostile_names_do_nothing(browser: chromium.Chromium, path: Path):
    browser.load(path)
    assert browser.evaluate("document.querySelectorAll('.map td button').length") == 80
    assert browser.evaluate("document.title").startswith("study")
    assert browser.evaluate("document.querySelectorAll('img').length") == 0
    assert browser.complaints == []
    values = browser.evaluate("csvOf(csvRows())")
    assert values.splitlines()[0].startswith("map,")
    assert "'=1+1" in values
    svg = browser.evaluate("figureSvg()")
    assert "<img" not in svg
    assert svg.count("<rect") == 81


def test_on_a_phone_only_tables_are_wider_than_the_window(browser: chromium.Chromium, path: Path):
    browser.size(360)
    try:
        browser.load(path)
        wide = browser.evaluate("document.querySelector('#differs table').scrollWidth")
        assert wide > 360, "the test needs a table that does not fit"
        assert browser.evaluate("document.documentElement.scrollWidth") <= 360
    finally:
        browser.size(1280)


def test_a_cell_opens_its_runs(browser: chromium.Chromium, path: Path):
    browser.load(path)
    browser.evaluate("document.querySelector('.map button').click()")
    assert browser.evaluate("document.querySelectorAll('#cell-body tbody tr').length") == 3
    assert browser.evaluate("document.querySelectorAll('#cell-body circle').length") == 3
    assert "3 runs: mean" in browser.evaluate("document.querySelector('#cell-body p').textContent")


def test_runs_of_no_plan_are_all_shown(browser: chromium.Chromium, tmp_path: Path):
    """Parameters that some runs lack hide none of them, and filter none at first."""
    frame = pl.DataFrame(
        {"aqm": ["codel", None, "pie", "pie"], "rtt": [4, 8, None, 4],
         "note": ["a", "b", "c", None], "link": ["x", None, None, None],
         "prague goodput": [1e6, 2e6, 3e6, 4e6]}
    )  # fmt: skip
    tables = {name: table.empty() for name, table in SWEEP_TABLES.items()}
    place = tmp_path / "index.html"
    html = page.render(tables | elsewhere.tables(frame, "s"), "s")
    place.write_text(html, encoding="utf-8")
    browser.load(place)
    counts = (
        "[...document.querySelectorAll('.map i')].reduce((n, i) => n + parseInt(i.textContent), 0)"
    )
    assert browser.evaluate(counts) == 4
    assert "The same in all runs" not in html


def test_values_without_a_number_take_no_room(browser: chromium.Chromium, tmp_path: Path):
    """Long names of a column stay apart, and one that no map fills is left out."""
    long = "codel limit 1000 target 5ms interval 100ms ecn"
    rows = [
        {"aqm": aqm, "rtt": rtt, "prague goodput": 1e6, "drops": n}
        for aqm, n in ((long, 4), (f"{long} ce_threshold 1ms", 5), ("wifi", None))
        for rtt in (4, 8)
    ]  # fmt: skip
    tables = {name: table.empty() for name, table in SWEEP_TABLES.items()}
    place = tmp_path / "index.html"
    html = page.render(tables | elsewhere.tables(pl.DataFrame(rows), "s"), "s")
    place.write_text(html, encoding="utf-8")
    browser.load(place)
    browser.evaluate("state.measure = 'drops'; state.x = 'aqm'; state.y = 'rtt'; draw()")
    heads = "[...document.querySelectorAll('.map thead th')].slice(1)"
    assert browser.evaluate(f"{heads}.length") == 2
    assert browser.evaluate(f"{heads}.every(th => th.scrollWidth <= th.clientWidth)")
    assert browser.evaluate("figureSvg()").count(f">{long[:23]}…<") == 2


def test_numbers_are_those_of_the_dataset(browser: chromium.Chromium, path: Path):
    """Share of the cell with rate 4 and RTT 4: mean of 10.4, 11.4 and 12.4 of 40 more."""
    browser.load(path)
    (text,) = {
        browser.evaluate(f"document.querySelectorAll('.map')[{n}].querySelector('b').textContent")
        for n in range(4)
    }
    goodputs = [10 + i + 4 / 9 for i in range(3)]
    mean = sum(g / (g + 40) for g in goodputs) / 3
    assert text == f"{100 * mean:.1f} %"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(browser: chromium.Chromium, path: Path, scheme: str):
    browser.scheme(scheme)
    browser.load(path)
    browser.evaluate("document.querySelector('.map button').click()")
    assert violations(browser) == []


def violations(browser: chromium.Chromium) -> list[list[str]]:
    """Rules of axe-core that the page breaks, each with the first element that does."""
    script = importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text()
    browser.evaluate(script + "; 0")
    found = browser.evaluate(
        "axe.run().then(r => JSON.stringify(r.violations.map(v => [v.id, v.nodes[0].html])))"
    )
    return list(json.loads(found))


def test_axe_finds_nothing_on_the_page_of_two_runs(
    browser: chromium.Chromium, tmp_path: Path, fixtures: Path
):
    runs = [str(fixtures / name / "sender.pcap.xz") for name in ("accecn-all-ce", "accecn-deaf")]
    compared = comparison.compare(sides.of_places(runs[0], runs[1], pool.on_cores(1)))
    place = tmp_path / "two.html"
    place.write_text(compare_page.render(compared, overlay.sides(*runs)), encoding="utf-8")
    browser.load(place)
    assert violations(browser) == []
    assert browser.complaints == []


def test_the_page_of_a_comparison_marks_the_cells_that_differ(
    browser: chromium.Chromium, tmp_path: Path
):
    both = sides.of_parameter(sweep(), f"=1+1{EVIL}", ["old", "new"])
    compared = comparison.compare(both, ["l4s_share"])
    place = tmp_path / "compare.html"
    place.write_text(compare_page.render(compared), encoding="utf-8")
    browser.load(place)
    assert browser.evaluate("document.querySelectorAll('.map td button').length") == 40
    assert browser.evaluate("document.querySelector('.map i').textContent") == ""
    assert browser.evaluate("document.querySelector('.map b').textContent") == "0.0"
    browser.evaluate("document.querySelector('.map button').click()")
    place_of_cell = "document.querySelector('#cell-body th[scope=row]').textContent"
    assert "rate 4, rtt 4: 22 % -> 22 %" in browser.evaluate(place_of_cell)
    assert browser.complaints == []
    assert browser.evaluate("document.querySelectorAll('img').length") == 0


def mixed() -> Tables:
    """A measure of one run only, then one of all; runs with an error and cut ones."""
    frame = pl.DataFrame(
        [
            {"aqm": aqm, "rate": rate, "buffer size": "one long label", "cca": cca, "i": i,
             "jain": 1.0 if (rate, i) == (4, 0) and aqm == cca == "a" else None,
             "prague goodput": 1e6 * rate}
            for aqm, rates in (("a", (4, 8)), ("b", (16, 32))) for rate in rates
            for cca in ("a", "b") for i in range(2)
        ]
    )  # fmt: skip
    columns = elsewhere.columns_of(frame, elsewhere.Roles(measures=("jain",)))
    tables = {name: table.empty() for name, table in SWEEP_TABLES.items()}
    tables |= elsewhere.tables(frame, "t", columns)
    found = [
        ("t:01", "L4S301", "error"),
        ("t:02", "L4S001", "warning"),
        ("t:03", "L4S503", "notice"),
    ]
    rows = [
        {"run": run, "number": 0, "rule": rule, "severity": level, "message": f"{rule} of {run}"}
        for run, rule, level in found
    ]
    return tables | {"findings": SWEEP_TABLES["findings"].conform(pl.DataFrame(rows))}


def test_failed_cut_and_serious_runs_are_visible():
    html = page.render(mixed(), "t", notes=["--name fits 3 of 4 runs"])
    assert "16 runs, 3 parameters, 1 with errors, 1 recorded in part" in html
    assert "L4S301 of t:01" in html
    assert "L4S001 of t:02" in html
    assert "--name fits 3 of 4 runs" in html


def test_rules_that_are_not_listed_are_counted():
    tables = mixed()
    rows = [
        {"run": "t:01", "number": n, "rule": f"L4S{400 + n}", "severity": "warning"}
        for n in range(40)
    ]
    tables = tables | {"findings": SWEEP_TABLES["findings"].conform(pl.DataFrame(rows))}
    assert "10 more rules are in the table findings." in page.render(tables, "t")
    assert "... and 32 more kinds of findings" in summary.text("out", Done(tables, 0, 16))


@pytest.mark.needs("chromium")
def test_the_first_view_shows_something(browser: chromium.Chromium, tmp_path: Path):
    """A measure that most runs have, no row without runs, and what is pooled."""
    place = tmp_path / "index.html"
    place.write_text(page.render(mixed(), "t"), encoding="utf-8")
    browser.load(place)
    assert browser.evaluate("state.measure") == "l4s_of_link"
    full = (
        "[...document.querySelectorAll('.map tbody tr')].every(row => row.querySelector('button'))"
    )
    assert browser.evaluate(full)
    browser.evaluate("state.across = state.down = ''; state.filters = {}; draw()")
    assert "Each cell pools all values of" in browser.evaluate("document.body.innerText")
    browser.evaluate("document.querySelector('.map button').click()")
    assert browser.evaluate("document.getElementById('cell').hidden") is False
    browser.evaluate("state.x = state.y; state.y = ''; draw()")
    assert browser.evaluate("document.getElementById('cell').hidden") is True


def test_numbers_that_single_precision_cannot_hold_are_none():
    """A result of 1e308 once ended a sweep with exit 70."""
    packed = b64decode(page.floats([1.5, None, 1e308, -1e39, 3.4e38]))
    first, *none, last = struct.unpack("<5f", packed)
    assert first == 1.5
    assert all(map(math.isnan, none))
    assert last == pytest.approx(3.4e38)
