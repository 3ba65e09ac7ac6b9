"""What a reader does with the page, done in a real browser: zoom, sort, filter, save, print."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from xml.etree import ElementTree

import axe_core_python
import polars as pl
import pytest

from l4strace.model import Analysis
from l4strace.page import render
from l4strace.page.case import MAX_LISTED
from l4strace.page.render import MAX_BYTES
from tests.support import chromium, synthetic

FLOWS = MAX_LISTED
"""As many as the table of flows holds."""
MAX_ELEMENTS = 3_000
"""Of the page before the charts below the first screen, whatever the flows: rows are paged."""
SAME = 5
"""Findings of one rule: three cards are open."""
HOSTILE = "<img src=x onerror=alert(1)>"


def _with_same(analysis: Analysis) -> Analysis:
    """Findings of one rule, more than are shown unfolded."""
    (one,) = (finding for finding in analysis.findings if finding.rule == "L4S002")
    more = tuple(dataclasses.replace(one, message=f"input {n}") for n in range(1, SAME))
    return dataclasses.replace(analysis, findings=(*analysis.findings, *more))


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The misfire among many flows that differ in all numbers; the mode has a hostile reason."""
    run = synthetic.misfire()
    numbers = pl.DataFrame({"number": range(2, FLOWS)}, schema={"number": pl.UInt32})

    def with_many(table: pl.DataFrame, **changed: pl.Expr) -> pl.DataFrame:
        one = table.filter((pl.col("flow") == 1) & (pl.col("source") == 0))
        spread = one.join(numbers, how="cross").with_columns(pl.col("number").alias("flow"))
        return pl.concat([table, spread.with_columns(**changed).select(table.columns)])

    number = pl.col("number")

    def any_number(below: int) -> pl.Expr:
        return number.hash(below) % below

    many = dataclasses.replace(
        run,
        flows=with_many(
            run.flows,
            client=pl.format("10.9.{}.{}", number // 250, number % 250),
            client_port=any_number(60_000).cast(pl.UInt16),
            mode_reason=pl.lit(HOSTILE),
        ),
        directions=with_many(
            run.directions,
            payload_bytes=(number * 1000).cast(pl.UInt64),
            acked_bytes=any_number(10**8),
            data_ect0=any_number(9000),
            data_ce=any_number(500),
            retransmits=any_number(300),
            rtt_min_us=any_number(10**5).cast(pl.Float64),
            rtt_mean_us=any_number(10**6).cast(pl.Float64),
        ),
    )
    path = tmp_path_factory.mktemp("page") / "run.html"
    path.write_text(render(many, _with_same(synthetic.misfire_analysis())), encoding="utf-8")
    return path


def test_thousands_of_flows_keep_the_budget(opened: chromium.Chromium, page: Path) -> None:
    assert page.stat().st_size <= MAX_BYTES
    # As high as with two flows and one page of the table: 13 screens.
    assert opened.evaluate("document.documentElement.scrollHeight") < 13 * 900


DRAWN_FIRST = (
    "new MutationObserver((_, watching) => { if (!document.documentElement?.dataset.drawn) return;"
    " watching.disconnect(); window.first = [document.querySelectorAll('.js-plotly-plot').length,"
    " plots().filter(inView).length, document.querySelectorAll('*').length]; })"
    ".observe(document, {attributes: true, subtree: true})"
)
"""Charts that were there when the page called itself drawn, those in view, and elements."""


def test_a_screen_is_drawn_before_what_lies_below_it(
    browser: chromium.Chromium, page: Path
) -> None:
    """Work instead of time: what is read and drawn before a reader sees the page does not grow."""
    watch = browser.call("Page.addScriptToEvaluateOnNewDocument", source=DRAWN_FIRST)
    browser.size(1280, 5000)
    browser.load(page)
    browser.size(1280)
    browser.call("Page.removeScriptToEvaluateOnNewDocument", **watch)
    drawn, in_view, elements = browser.evaluate("window.first")
    assert 0 < in_view <= drawn <= in_view + 1
    assert elements < MAX_ELEMENTS
    assert browser.evaluate("document.querySelectorAll('.js-plotly-plot').length") > drawn + 5


@pytest.fixture
def opened(browser: chromium.Chromium, page: Path) -> chromium.Chromium:
    browser.load(page)
    return browser


WINDOWS = (
    "[...new Set([...document.querySelectorAll('.js-plotly-plot')]"
    ".filter(p => p.layout.meta?.timeline).map(p => p.layout.xaxis.range.map(x => +x.toFixed(3))"
    ".join()))].join(' ')"
)
"""Time windows of all timelines, each once."""


def test_keys_and_buttons_zoom_and_reset(opened: chromium.Chromium) -> None:
    opened.evaluate("document.querySelector('#timelines ~ details .plot').focus()")
    for key, window in (("+", "5,15"), ("ArrowRight", "7.5,17.5"), ("-", "0,20"), ("+", "5,15")):
        opened.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key[:1])
        assert opened.evaluate(WINDOWS) == window
    assert opened.evaluate("location.hash") == "#timelines&t=5.000,15.000"
    opened.evaluate("document.querySelector('[data-step=earlier]').click()")
    assert opened.evaluate(WINDOWS) == "2.5,12.5"
    assert opened.evaluate("document.getElementById('whole-run').checkVisibility()")
    opened.evaluate("document.getElementById('whole-run').click()")
    assert opened.evaluate(WINDOWS) == "0,20"
    assert not opened.evaluate("document.getElementById('whole-run').checkVisibility()")


def test_a_chart_names_units_and_is_saved(opened: chromium.Chromium) -> None:
    opened.evaluate(
        "Plotly.Fx.hover(document.querySelector('[id^=rtt-] .plot'),"
        " [{curveNumber: 2, pointNumber: 9}])"
    )
    hover = "document.querySelector('[id^=rtt-] .hoverlayer').textContent"
    assert " ms" in opened.evaluate(hover)

    assert saved(opened, "svg") == b"<svg"
    assert saved(opened, "png") == b"\x89PNG"


def saved(browser: chromium.Chromium, kind: str) -> bytes:
    """First bytes of a chart that was saved, after a look into the picture."""
    folder = Path(browser.profile) / "saved"
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    browser.evaluate(
        f"document.querySelector('[data-numbers^=marks-] [data-format={kind}]').click()"
    )
    name = f"sender.pcapng.xz_receiver.pcapng.xz_trace.txt.zst-marks-flow-0.{kind}"
    data = browser.downloaded(folder / name).read_bytes()
    if kind == "svg":
        drawn = "".join(ElementTree.fromstring(data).itertext())  # noqa: S314 - our own
        assert "CE marks per round" in drawn
        assert "10.0.1.2:40001" in drawn
    return data[:4]


SHOWN = (
    "[...document.querySelectorAll('#flow-table tbody tr')]"
    ".map(row => Number(row.querySelector('b').textContent.slice(5)))"
)
RANGE = "document.getElementById('flow-range').textContent"


def click(browser: chromium.Chromium, selector: str) -> None:
    browser.evaluate(f"document.querySelector('{selector}').click()")


def test_flows_are_sorted_filtered_and_paged(opened: chromium.Chromium) -> None:
    assert opened.evaluate(RANGE) == f"1\N{EN DASH}25 of {FLOWS:,}"
    click(opened, "#flow-on")
    click(opened, "#flow-on")
    assert opened.evaluate(RANGE) == f"51\N{EN DASH}75 of {FLOWS:,}"
    click(opened, "#flow-table th:nth-child(4) button")
    assert opened.evaluate(SHOWN)[:3] == [1, 0, FLOWS - 1]
    click(opened, "#flow-table th:nth-child(4) button")
    assert opened.evaluate(SHOWN)[:3] == [2, 3, 4]
    assert opened.evaluate("document.querySelectorAll('[aria-sort]').length") == 1
    opened.evaluate(
        "document.getElementById('flow-words').value = 'Classic 10.9.0.42:';"
        "document.getElementById('flow-words').dispatchEvent(new Event('input'))"
    )
    assert opened.evaluate(SHOWN) == [42]
    assert opened.evaluate("document.getElementById('flow-on').disabled")
    # A link to a flow that the filter hides brings it back.
    opened.evaluate("location.hash = '#flow-37'")
    assert opened.evaluate("document.getElementById('flow-words').value") == ""
    assert 37 in opened.evaluate(SHOWN)
    assert opened.evaluate("document.querySelectorAll('#flow-table tbody tr').length") <= 25
    assert opened.evaluate(
        f"[...document.querySelectorAll('[title]')].some(e => e.title === '{HOSTILE}')"
    )


def test_links_open_what_is_folded_and_buttons_copy(opened: chromium.Chromium) -> None:
    last = f"document.getElementById('L4S002-{SAME}')"
    assert not opened.evaluate(f"{last}.checkVisibility()")
    opened.evaluate(f"location.hash = '#L4S002-{SAME}'")
    opened.wait_until(f"{last}.checkVisibility()")
    # Not even a header of several rows hides it.
    opened.size(800)
    below = (
        "(() => { document.getElementById('timelines').scrollIntoView({behavior: 'instant'});"
        "return document.getElementById('timelines').getBoundingClientRect().top"
        " - document.querySelector('.top').getBoundingClientRect().bottom; })()"
    )
    height = "document.querySelector('.top').offsetHeight"
    opened.wait_until(
        f"{height} > 56 && document.documentElement.style.scrollPaddingTop === {height} + 8 + 'px'"
    )
    assert 0 <= opened.evaluate(below) < 40
    opened.size(1280)
    # It shows for a second that it copied.
    copied = (
        "(button => new Promise(r => { new MutationObserver(() => r(button.textContent))"
        ".observe(button, {childList: true, characterData: true, subtree: true});"
        " button.click(); }))"
    )
    assert opened.evaluate(f"{copied}(document.querySelector('[data-copy]'))") == "\N{CHECK MARK}"


def test_a_stray_percent_sign_breaks_nothing(browser: chromium.Chromium, page: Path) -> None:
    browser.load(page, "#marks%&t=2.5,3.5")
    assert browser.evaluate(WINDOWS) == "2.5,3.5"


def test_a_swipe_scrolls_over_a_chart(opened: chromium.Chromium) -> None:
    opened.call("Emulation.setTouchEmulationEnabled", enabled=True)
    opened.evaluate(
        "document.querySelector('#timelines ~ details .plot')"
        ".scrollIntoView({behavior: 'instant', block: 'center'})"
    )
    before = opened.evaluate("scrollY")
    fingers = [("touchStart", 450), *(("touchMove", y) for y in range(430, 230, -20))]
    for kind, y in fingers:
        opened.call("Input.dispatchTouchEvent", type=kind, touchPoints=[{"x": 640, "y": y}])
    opened.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    opened.wait_until(f"scrollY - {before} > 100")
    assert opened.evaluate(WINDOWS) == "0,20"
    opened.call("Emulation.setTouchEmulationEnabled", enabled=False)


INK = (
    "[...document.querySelectorAll('.plot .xtick text')].map(t => getComputedStyle(t).fill)"
    ".concat([getComputedStyle(document.querySelector('.plot path.js-line')).stroke])"
)
"""Colours of texts and of the first curve."""


def test_a_dark_system_prints_in_light_colours(browser: chromium.Chromium, page: Path) -> None:
    browser.load(page)
    light = set(browser.evaluate(INK))
    browser.scheme("dark")
    browser.load(page)
    assert not light & set(browser.evaluate(INK))
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert set(browser.evaluate(INK)) == light
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not light & set(browser.evaluate(INK))
    browser.scheme("light")


def test_a_print_has_the_titles_of_columns_and_no_other_button(opened: chromium.Chromium) -> None:
    """A title sorts its column, so it is a button, too."""
    opened.call("Emulation.setEmulatedMedia", media="print")
    # In print a title has no box of its own: what counts is whether its text is drawn.
    shown = opened.evaluate(
        "[...document.querySelectorAll('button')].filter(b => { const text = new Range();"
        " text.selectNodeContents(b); return text.getClientRects().length; })"
        ".map(b => b.textContent)"
    )
    titles = opened.evaluate(
        "[...document.querySelectorAll('#flow-table th')].map(h => h.textContent)"
    )
    opened.call("Emulation.setEmulatedMedia", media="")
    assert "bottleneck" in titles
    assert shown == titles


def test_without_scripts_the_page_tells_what_it_lacks(
    browser: chromium.Chromium, page: Path
) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.call("Page.navigate", url=page.resolve().as_uri())
    end = time.monotonic() + chromium.PATIENCE_S
    # The note is near the top: on a busy machine the rest of the page is still on its way then.
    while not ("Scripts are off" in body(browser) and loaded(browser)) and time.monotonic() < end:
        time.sleep(0.05)
    text = body(browser)
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    assert "Scripts are off" in text
    assert f"flow {FLOWS - 23}\n" in text.replace(" \n", "\n")
    assert f"flow {FLOWS - 24}" not in text


def loaded(browser: chromium.Chromium) -> bool:
    return bool(browser.evaluate("document.readyState === 'complete'"))


def body(browser: chromium.Chromium) -> str:
    return str(browser.evaluate("document.body?.innerText ?? ''"))


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_axe_finds_no_violation(
    browser: chromium.Chromium, page: Path, scheme: str, width: int
) -> None:
    browser.scheme(scheme)
    browser.size(width)
    browser.load(page)
    script = Path(axe_core_python.__file__).with_name("axe.min.js").read_text(encoding="utf-8")
    browser.evaluate(script + "; 1")
    browser.evaluate(
        "document.querySelectorAll('details.rule, details.more').forEach(d => { d.open = true; })"
    )
    # A chart is one image, named by its caption: its shapes are no content.
    found = browser.evaluate(
        "axe.run({exclude: ['.svg-container']}).then(r => r.violations.map("
        "v => [v.id, v.help, v.nodes.map(n => n.html.slice(0, 200)).slice(0, 3)]))"
    )
    assert found == []
    browser.scheme("light")
    browser.size(1280)


def test_nothing_of_this_was_a_complaint(browser: chromium.Chromium) -> None:
    assert browser.complaints == []
