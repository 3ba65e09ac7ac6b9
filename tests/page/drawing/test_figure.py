"""Figures are plain values; plotly has the last word on whether they are right."""

from __future__ import annotations

import plotly.graph_objects as go
import pytest

from l4strace.page.build import build
from l4strace.page.case import Case
from l4strace.page.drawing.figure import Figure
from tests.support import synthetic


@pytest.mark.parametrize("run", [synthetic.misfire, synthetic.healthy])
def test_plotly_takes_every_figure_of_a_page(run) -> None:
    charts = build(Case(run(), synthetic.misfire_analysis())).charts
    assert charts
    for chart in charts:
        # go.Figure raises ValueError for a name or value that plotly's schema does not have.
        drawn = go.Figure(chart.spec["data"], chart.spec["layout"])
        assert len(drawn.data) == len(chart.spec["data"])
        # The page's script knows no more types than these and `pie`.
        assert {trace["type"] for trace in chart.spec["data"]} <= {"scatter", "bar"}


def test_plotly_refuses_what_is_no_property() -> None:
    wrong = Figure([{"type": "scatter", "x": [0], "y": [1], "stroke": "red"}], {}, 100)
    with pytest.raises(ValueError, match="stroke"):
        wrong.plotly()


def test_a_notebook_gets_the_same_shapes_and_height() -> None:
    figure = Figure([{"type": "scatter", "x": [0, 1], "y": [1, 2]}], {}, 210)
    figure.shape(type="line", y0=1, y1=1)
    figure.note(x=1, y=1, text="limit")
    drawn = figure.plotly()
    assert (drawn.layout.height, drawn.layout.shapes[0].x1) == (210, 1)
    assert drawn.layout.annotations[0].text == "limit"
