"""Two runs over each other: curves as on their own pages, ranges of repetitions, one zoom."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from l4strace import errors, pipeline
from l4strace.comparison import comparison, overlay, page, sides, text
from l4strace.page.case import Case
from l4strace.page.drawing.svg import values
from l4strace.page.figures import goodput
from l4strace.pipeline import Asked
from l4strace.studies import pool
from tests.support import chromium
from tests.support.places import FIXTURES

RUNS = ("healthy", "misfire")
CAPTURES = [str(FIXTURES / name / f"{name}.pcap.xz") for name in RUNS]


@pytest.fixture(scope="module")
def both() -> tuple[overlay.Side, overlay.Side]:
    found = overlay.sides(*CAPTURES)
    assert found
    return found


def test_a_file_of_an_overlay_is_one_run(tmp_path: Path):
    folder = tmp_path / "both"
    for name in ("accecn-bleached", "accecn-all-ce"):
        shutil.copytree(FIXTURES / name, folder / name)
    with pytest.raises(errors.UsageError, match="2 unrelated runs"):
        overlay._run(
            [str(folder / n / "sender.pcap.xz") for n in ("accecn-bleached", "accecn-all-ce")]
        )


def test_each_curve_is_that_of_the_page_of_the_run(both: tuple[overlay.Side, overlay.Side]):
    """Goodput over intervals: one ACK after another would be a rate of its own."""
    chart = overlay.charts(both)[0]
    assert chart.title == "Goodput"
    for capture, trace in zip(CAPTURES, chart.spec["data"], strict=True):
        (run,) = pipeline.diagnose([capture], Asked(judge=False))
        direction = Case(run.evidence, run.analysis).direction(1, True)
        assert direction
        own = goodput.draw(direction)
        assert own
        assert values(trace["y"]) == values(own.traces[0]["y"])
        assert goodput.mean(direction) in chart.caption


def test_alpha_score_marks_and_window_lie_over_each_other(
    both: tuple[overlay.Side, overlay.Side],
):
    charts = {chart.key: chart for chart in overlay.charts(both)}
    assert set(charts) == {"goodput", "rtt", "queue", "marks", "alpha", "score", "window"}
    for chart in charts.values():
        assert [trace["name"] for trace in chart.spec["data"]] == list(RUNS), chart.key
        assert chart.spec["layout"]["meta"] == {"timeline": True}
    assert "misfire: ended at 17, recorded by the kernel." in charts["score"].caption
    assert charts["alpha"].spec["layout"]["yaxis"]["range"][1] < 0.2


def test_repetitions_of_a_side_are_a_range(tmp_path: Path):
    places = []
    for side, names in {"before": ("all-ce", "acks-lost"), "after": ("clean", "unmarked")}.items():
        for name in names:
            place = tmp_path / side / name / "sender.pcap.xz"
            place.parent.mkdir(parents=True)
            shutil.copy(FIXTURES / f"accecn-{name}/sender.pcap.xz", place)
        places.append(str(tmp_path / side))
    found = overlay.sides(*places)
    assert found
    assert [side.about for side in found] == ["2 runs", "2 runs"]
    chart = overlay.charts(found)[0]
    names = [t["name"] for t in chart.spec["data"] if "name" in t]
    assert names == ["before, range", "before", "after, range", "after"]
    low, high, middle = (values(trace["y"]) for trace in chart.spec["data"][:3])
    assert all(a <= b <= c for a, b, c in zip(low, middle, high, strict=True))
    assert "before: median and range of 2 runs." in chart.caption
    assert overlay.phases(found) == []


def test_a_run_that_cannot_be_read_is_left_out_of_the_range(tmp_path: Path):
    shutil.copytree(FIXTURES / "accecn-all-ce", tmp_path / "side" / "good")
    (tmp_path / "side" / "bad").mkdir()
    (tmp_path / "side" / "bad" / "broken.pcap").write_bytes(b"no capture")
    side = overlay.side(str(tmp_path / "side"), "side")
    assert side
    assert len(side.runs) == 1


@pytest.mark.slow
def test_the_page_states_and_draws_both(both: tuple[overlay.Side, overlay.Side]):
    compared = comparison.compare(
        sides.of_places(CAPTURES[0], CAPTURES[1], pool.on_cores(1)), ["l4s_goodput"]
    )
    assert not any(measured.judged for measured in compared.measures)
    assert "may be chance" in text.render(compared)
    html = page.render(compared, both)
    assert html.count('<figure class="chart"') == len(overlay.charts(both))
    assert "t=0.0 s to " in overlay.phases(both)[0]["first"]
    assert "numbers, image, large" in html


def test_zoom_in_one_chart_moves_all_and_both_runs_are_named(
    browser: chromium.Chromium, tmp_path: Path, both: tuple[overlay.Side, overlay.Side]
):
    compared = comparison.compare(
        sides.of_places(CAPTURES[0], CAPTURES[1], pool.on_cores(1)), ["l4s_goodput"]
    )
    place = tmp_path / "compare.html"
    place.write_text(page.render(compared, both), encoding="utf-8")
    browser.load(place, "#alpha&t=1.0,2.0")
    ranges = (
        "[...new Set([...document.querySelectorAll('.plot')].map("
        "p => p.layout.xaxis.range.join()))]"
    )
    assert browser.evaluate(ranges) == ["1,2"]
    browser.evaluate("document.querySelector('[data-step=out]').click()")
    assert browser.evaluate(ranges) == ["0.5,2.5"]
    browser.evaluate(
        "Plotly.Fx.hover(document.querySelector('[data-figure=goodput]'), {xval: 1.5})"
    )
    said = browser.evaluate("document.querySelector('#goodput .hoverlayer').textContent")
    assert "healthy" in said
    assert "misfire" in said
    assert browser.complaints == []
