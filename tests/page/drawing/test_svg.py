"""Charts as SVG: what lies where, and nothing that a text of the data could add."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from l4strace.page.build import build
from l4strace.page.case import Case
from l4strace.page.drawing.figure import Figure
from l4strace.page.drawing.layout import chart, reference, shade
from l4strace.page.drawing.palette import MEASURED, SEVERITIES
from l4strace.page.drawing.series import Points, dots, line
from l4strace.page.drawing.svg import LEFT, RIGHT, WIDTH, svg
from tests.support import synthetic

SVG = "{http://www.w3.org/2000/svg}"


def drawn(figure: Figure, title: str = "a title") -> ElementTree.Element:
    return ElementTree.fromstring(svg(figure.spec, title, figure.height))  # noqa: S314 - our own


def curve(root: ElementTree.Element) -> list[tuple[str, float, float]]:
    """Pen, x and y of the points within the area of the curves."""
    group = root.find(f"{SVG}g")
    assert group is not None
    path = group.findall(f"{SVG}path")[-1].get("d") or ""
    return [(p, float(x), float(y)) for p, x, y in re.findall(r"([ML])(\S+) ([\d.-]+)", path)]


def test_a_line_runs_where_its_values_lie_and_stops_where_none_are() -> None:
    points = Points([0.0, 1.0, 2.0, 3.0], [0.0, 10.0, float("nan"), 5.0])
    axes = {"range": [0, 4]}, {"range": [0, 10]}
    figure = chart([line(points, "curve", MEASURED, paused=False)], "s", "ms", x=axes[0], y=axes[1])
    pens = curve(drawn(figure))
    assert [pen for pen, *_ in pens] == ["M", "L", "M"]
    width = WIDTH - LEFT - RIGHT
    assert [x for _, x, _ in pens] == [LEFT, LEFT + width / 4, LEFT + width * 3 / 4]
    zero, ten, five = (y for *_, y in pens)
    assert ten < five < zero
    assert five == pytest.approx((zero + ten) / 2, abs=0.1)


def test_a_hostile_text_stays_a_text() -> None:
    hostile = '"><script>alert(1)</script>&'
    figure = chart([dots(Points([1.0], [1.0]), hostile, MEASURED)] * 2, hostile, hostile)
    reference(figure, 1, hostile)
    shade(figure.layout, (0, 1), hostile, SEVERITIES["error"])
    root = drawn(figure, hostile)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
        *("svg", "title", "rect", "clipPath", "g", "path", "text"),
    }
    assert "".join(root.itertext()).count(hostile) == 8


def test_every_chart_of_a_page_can_be_drawn() -> None:
    charts = build(Case(synthetic.misfire(), synthetic.misfire_analysis())).charts
    for item in charts:
        root = ElementTree.fromstring(svg(item.spec, item.title, item.height))  # noqa: S314
        texts = [text.text for text in root.iter(f"{SVG}text")]
        named = [t["name"] for t in item.spec["data"] if t.get("showlegend", True)]
        assert item.title in texts
        assert len(named) < 2 or set(named) <= set(texts)
        group = root.find(f"{SVG}g")
        assert group is not None
        assert len(group)
        assert "nan" not in ElementTree.tostring(root, "unicode")
