"""The page in a real browser: offline, from a file, without complaint, within two seconds."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from l4strace.page import render
from tests.support import chromium, synthetic


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "<script>run.html"
    path.write_text(render(synthetic.misfire(), synthetic.misfire_analysis()), encoding="utf-8")
    return path


def test_what_is_in_view_is_drawn_first(browser: chromium.Chromium, page: Path) -> None:
    in_view = browser.load(page)
    complete = int(browser.evaluate("document.documentElement.dataset.complete"))
    print(f"in view after {in_view / 1000:.2f} s, complete after {complete / 1000:.2f} s")
    assert 0 < in_view < complete


def test_every_open_chart_is_drawn(browser: chromium.Chromium, page: Path) -> None:
    browser.load(page)
    charts = browser.evaluate(
        "[...document.querySelectorAll('.plot')]"
        ".filter(plot => plot.closest('details.flow:not([open])') === null)"
        ".map(plot => [plot.dataset.figure, plot.querySelector('.trace, .point') !== null])"
    )
    assert len(charts) > 10
    assert [name for name, drawn in charts if not drawn] == []


def test_a_link_opens_its_window_in_every_timeline(browser: chromium.Chromium, page: Path) -> None:
    browser.load(page, "#marks&t=2.5,3.5")
    ranges = browser.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot')].filter(p => p.layout.meta?.timeline)"
        ".map(p => p.layout.xaxis.range.join())"
    )
    assert set(ranges) == {"2.5,3.5"}
    assert browser.evaluate("location.hash") == "#marks&t=2.500,3.500"


def test_zoom_in_one_timeline_moves_all(browser: chromium.Chromium, page: Path) -> None:
    browser.load(page)
    browser.evaluate(
        "Plotly.relayout(document.querySelector('#timelines ~ details .plot'),"
        " {'xaxis.range[0]': 4, 'xaxis.range[1]': 5}).then(() => 1)"
    )
    ranges = browser.evaluate(
        "[...document.querySelectorAll('.js-plotly-plot')].filter(p => p.layout.meta?.timeline)"
        ".map(p => p.layout.xaxis.range.join())"
    )
    assert set(ranges) == {"4,5"}


def test_the_theme_follows_system_and_button(browser: chromium.Chromium, page: Path) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    browser.scheme("light")
    browser.load(page)
    light = browser.evaluate(background)
    browser.evaluate("document.getElementById('theme').click()")
    dark = browser.evaluate(background)
    browser.evaluate("localStorage.clear()")
    browser.scheme("dark")
    browser.load(page)
    assert browser.evaluate(background) == dark != light
    browser.scheme("light")


@pytest.mark.parametrize("width", [400, 1280])
def test_the_page_never_scrolls_sideways(
    browser: chromium.Chromium, page: Path, width: int
) -> None:
    browser.size(width)
    browser.load(page)
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    browser.size(1280)


def test_a_chart_fits_a_window_in_the_frame_that_shows_it(
    browser: chromium.Chromium, page: Path
) -> None:
    browser.size(500)
    browser.load(page)
    browser.evaluate(
        "window.fitted = new Promise((done) => addEventListener('resize', () =>"
        " requestAnimationFrame(() => requestAnimationFrame(() =>"
        " done([innerWidth, document.documentElement.scrollWidth]))))); 0"
    )
    browser.size(360)
    window, shown = browser.evaluate("window.fitted")
    assert shown <= window == 360
    browser.size(1280)


def test_names_in_rows_take_no_room_from_the_curves(browser: chromium.Chromium, page: Path) -> None:
    """At 360 px four names stood above 60 px of curves."""
    heights = (
        "JSON.stringify([...document.querySelectorAll('.js-plotly-plot')].map(plot =>"
        " [plot.dataset.figure, plot.querySelector('.plotbg, .nsewdrag').getBBox().height]))"
    )
    browser.size(1280)
    browser.load(page)
    wide = dict(json.loads(browser.evaluate(heights)))
    browser.size(360)
    browser.load(page)
    narrow = dict(json.loads(browser.evaluate(heights)))
    assert len(wide) > 10
    assert [name for name in wide if narrow[name] < 0.9 * wide[name]] == []
    browser.size(1280)


def test_the_print_holds_the_diagnosis(
    browser: chromium.Chromium, page: Path, tmp_path: Path
) -> None:
    browser.load(page)
    printed = tmp_path / "run.pdf"
    browser.print(printed)
    assert printed.stat().st_size > 50_000
    assert not browser.complaints
