"""What helps a reader find the way, in a real browser: glossary, search, a finding as Markdown."""

from __future__ import annotations

from pathlib import Path

import pytest

from l4strace.page import render
from l4strace.wording.glossary import GLOSSARY
from tests.support import chromium, synthetic


@pytest.fixture(scope="module")
def opened(browser: chromium.Chromium, tmp_path_factory: pytest.TempPathFactory):
    path = tmp_path_factory.mktemp("help") / "run.html"
    run, analysis = synthetic.misfire(), synthetic.misfire_analysis()
    path.write_text(render(run, analysis), encoding="utf-8")
    browser.call("Emulation.setFocusEmulationEnabled", enabled=True)
    load(browser, path)
    return browser


def load(browser: chromium.Chromium, path: Path) -> None:
    browser.load(path)
    browser.wait_until("document.getElementById('help') !== null")


HELP = "(e => e.hidden ? '' : e.textContent)(document.getElementById('help'))"


def test_a_term_explains_itself_by_mouse_and_by_keyboard(opened: chromium.Chromium) -> None:
    terms = opened.evaluate("[...document.querySelectorAll('.term')].map(e => e.textContent)")
    assert {"L4S", "AccECN", "ECT(1)", "queue delay", "score", "classic-ECN fallback"} <= {*terms}
    score = "[...document.querySelectorAll('.term')].find(e => e.textContent === 'score')"
    assert opened.evaluate(HELP) == ""
    opened.evaluate(f"{score}.dispatchEvent(new MouseEvent('mouseover', {{bubbles: true}}))")
    assert opened.evaluate(HELP) == GLOSSARY["score"]
    opened.evaluate(f"{score}.dispatchEvent(new MouseEvent('mouseout', {{bubbles: true}}))")
    assert opened.evaluate(HELP) == ""
    opened.evaluate(f"{score}.focus({{preventScroll: true}})")
    assert opened.evaluate(HELP) == GLOSSARY["score"]
    assert opened.evaluate(f"{score}.getAttribute('aria-describedby')") == "help"
    opened.evaluate("dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    assert opened.evaluate(HELP) == ""
    assert opened.evaluate(f"document.querySelector({score}.hash).querySelector('dt').textContent")


def test_a_term_is_marked_once_a_section_and_never_in_a_name(opened: chromium.Chromium) -> None:
    twice = opened.evaluate(
        "[...document.querySelectorAll('section')].flatMap(section => {"
        " const all = [...section.querySelectorAll('.term')].map(e => e.hash);"
        " return all.filter((hash, at) => all.indexOf(hash) !== at); })"
    )
    assert twice == []
    assert opened.evaluate("document.querySelectorAll('code .term, a a, h1 .term').length") == 0


def search(browser: chromium.Chromium, words: str) -> list[str]:
    browser.evaluate(
        f"(e => {{ e.value = {words!r}; e.dispatchEvent(new Event('input')); }})"
        "(document.querySelector('#search input'))"
    )
    return list(
        browser.evaluate(
            "[...document.querySelectorAll('#search li a')].map(e => e.getAttribute('href'))"
        )
    )


def test_search_finds_findings_charts_flows_and_words(opened: chromium.Chromium) -> None:
    assert "#L4S501-flow-0" in search(opened, "starves")
    assert "#queue-flow-0" in search(opened, "queue delay")
    assert "#flow-1" in search(opened, "40002")
    assert "#term-accecn-option" in search(opened, "accecn option")
    assert search(opened, "no such words") == []
    assert "nothing found" in opened.evaluate("document.querySelector('#search ul').textContent")
    search(opened, "40002")
    opened.evaluate("document.querySelector('#search li a').click()")
    assert opened.evaluate("document.querySelector('#search ul').hidden")


def test_a_finding_is_copied_as_markdown(opened: chromium.Chromium) -> None:
    card = "document.getElementById('L4S301-flow-0')"
    assert opened.evaluate(f"{card}.querySelector('[data-markdown]').checkVisibility()")
    text = str(opened.evaluate(f"findingAsMarkdown({card})"))
    head, message, action, *rest = text.split("\n\n")
    assert head.startswith("**Prague's fallback misfired: scaling bug** (")
    assert "L4S301" in head
    assert message.startswith("Flow 0: Prague's classic-ECN fallback misfired")
    assert "prague\\_ecn\\_fallback" in action
    assert "`frame.number in {2281, 2340}`" in rest
    other = str(opened.evaluate("findingAsMarkdown(document.getElementById('L4S501-flow-0'))"))
    assert "starves from" in other
    cause = str(opened.evaluate("findingAsMarkdown(document.querySelector('[id^=L4S302]'))"))
    assert "Rebuild tcp" in cause or "rebuild tcp" in cause
    assert opened.evaluate("plain('a_b <c> @d')") == "a\\_b \\<c\\> @\u2060d"


def test_a_table_that_is_too_wide_says_so(opened: chromium.Chromium) -> None:
    hints = "[...document.querySelectorAll('.scrolls')].filter(e => e.checkVisibility()).length"
    opened.size(360, 800)
    opened.wait_until(f"{hints} > 3")
    wide = opened.evaluate(
        "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1"
        " && e.checkVisibility()).length"
    )
    opened.wait_until(f"{hints} === {wide}")
    opened.size(1280)


def test_a_phone_shows_headline_remedy_and_chart_at_once(opened: chromium.Chromium) -> None:
    opened.size(360, 740)
    for part in ("h1", ".action", ".plot"):
        # From the top of the page, wherever another test's jump has scrolled it to.
        box = f"document.querySelector('#verdict {part}').getBoundingClientRect()"
        bottom = f"{box}.bottom + scrollY"
        assert 0 < opened.evaluate(bottom) <= 740, part
    opened.size(1280)


def test_nothing_of_this_was_a_complaint(opened: chromium.Chromium) -> None:
    assert opened.complaints == []


def test_a_chart_has_a_large_view(opened: chromium.Chromium) -> None:
    chart = "document.getElementById('queue-flow-0')"
    before = opened.evaluate(f"{chart}.querySelector('.plot').clientHeight")
    opened.evaluate(f"{chart}.querySelector('[data-large]').click()")
    height = f"{chart}.querySelector('.plot').clientHeight"
    opened.wait_until(f"{height} > 500 && {chart}.querySelector('.main-svg').clientHeight > 500")
    opened.evaluate("dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}))")
    opened.wait_until(f"{height} === {before}")
    assert opened.complaints == []
