"""What the charts of a flow show beside their curves."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

from l4strace.model import Analysis, Severity
from l4strace.page.build import build
from l4strace.page.case import Case
from l4strace.page.drawing import smooth
from l4strace.page.sections import timelines
from tests.support import synthetic


@pytest.fixture(scope="module")
def case() -> Case:
    return Case(synthetic.misfire(), synthetic.misfire_analysis())


def test_charts_shade_when_a_finding_holds(case: Case) -> None:
    start, end = synthetic.at(5.0), synthetic.at(7.5)
    spike = dataclasses.replace(
        case.analysis.findings[0], severity=Severity.WARNING, span_ns=(start, end)
    )
    for forward, shaded in ((True, 1), (False, 0)):
        analysis = Analysis((dataclasses.replace(spike, forward=forward),))
        section = timelines.build(Case(case.evidence, analysis))
        first, second = section.flows
        shapes = [
            [s for s in chart.spec["layout"].get("shapes", ()) if s["xref"] == "x"]
            for chart in first.charts
        ]
        assert [len(own) for own in shapes] == [shaded] * len(first.charts)
        assert all((s["x0"], s["x1"]) == (5.0, 7.5) for own in shapes for s in own)
        assert bool(section.shaded) == bool(shaded)
        assert not any(
            s["xref"] == "x" for c in second.charts for s in c.spec["layout"].get("shapes", ())
        )


def test_goodput_counts_over_intervals_of_some_rounds() -> None:
    starts = [synthetic.at(n * 40e-6) for n in range(1000)]
    rounds = pl.DataFrame(
        {
            "x": [n * 40e-6 for n in range(1000)],
            "start_ns": starts,
            "end_ns": [start + 40_000 for start in starts],
            "acked_bytes": [650_000 if n == 500 else 0 for n in range(1000)],
            "retransmits": [0] * 1000,
        }
    )
    rates = smooth.per_interval(rounds, smooth.interval_of(rounds, 1.0))
    # 650 kB within 40 us would be 130 Gbit/s.
    assert max(rates.goodput_bps) == 650_000 * 8 / smooth.SHORTEST_S
    assert sum(rates.goodput_bps) * smooth.SHORTEST_S == 650_000 * 8


def test_the_axis_of_round_trips_need_not_begin_at_zero(case: Case) -> None:
    charts = {chart.key: chart for chart in timelines.build(case).flows[0].charts}
    modes = {key: chart.spec["layout"]["yaxis"]["rangemode"] for key, chart in charts.items()}
    assert (modes["rtt-flow-0"], modes["queue-flow-0"]) == ("normal", "tozero")


def test_every_curve_names_its_unit_where_the_mouse_is(case: Case) -> None:
    for chart in build(case).charts:
        for trace in chart.spec["data"]:
            unit = chart.spec["layout"]["yaxis"]["title"]["text"]
            assert trace.get("hoverinfo") == "skip" or trace["hovertemplate"].endswith(unit)
