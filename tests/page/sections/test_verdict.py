"""The opening of the page: headline, remedy, a chart, and each thing once."""

from __future__ import annotations

import dataclasses
import re

import polars as pl
import pytest
from markupsafe import escape

from l4strace import pipeline
from l4strace.model import Analysis, Status
from l4strace.page.build import build
from l4strace.page.case import Case
from l4strace.page.fill import encoded
from l4strace.page.sections import findings, verdict
from l4strace.page.sections.verdict import glance
from l4strace.rules import RULES
from l4strace.wording.amounts import typeset
from tests.support.places import FIXTURES


def test_the_verdict_opens_with_the_worst_finding(case: Case) -> None:
    section = verdict.build(case)
    worst = case.analysis.findings[0]
    assert section.headline == worst.headline
    assert section.paragraph == typeset(f"Flow 0: {worst.message}")
    assert (section.severity, section.link) == ("error", "L4S301-flow-0")
    assert [tally.text for tally in section.tally] == ["2 errors", "2 warnings", "1 info"]


def test_a_quiet_run_claims_no_more_than_was_judged(quiet: Case) -> None:
    section = verdict.build(quiet)
    assert section.severity == "none"
    assert section.headline.startswith("Nothing wrong found")


def test_whether_this_is_l4s_opens_the_page(case: Case, quiet: Case) -> None:
    status = verdict.build(case).status
    assert status.answer == "yes"
    assert status.sentence.startswith("Yes: ")
    html = encoded(build(case)).decode()
    assert html.index('id="verdict"') < html.index('id="status"') < html.index('id="findings"')
    assert verdict.build(quiet).status.sentence == ""
    assert 'id="status"' not in encoded(build(quiet)).decode()


def test_the_verdict_is_told_once(case: Case) -> None:
    """Its paragraph and its remedy stand above the list of findings, which has its numbers."""
    html = encoded(build(case)).decode()
    worst = case.analysis.findings[0]
    message = str(escape(typeset(worst.message)))
    assert html.count(message) == 1
    card = findings.build(case).cards[0]
    assert (card.headline, card.message, card.action, card.told) == (worst.headline, "", "", True)
    assert [card.told for card in findings.build(case).cards[1:]] == [False] * 4


def test_the_title_of_the_page_is_the_headline(case: Case) -> None:
    html = encoded(build(case)).decode()
    title = html[html.index("<title>") : html.index("</title>")]
    assert str(escape(case.analysis.findings[0].headline)) in title


def test_an_empty_capture_is_grey(quiet: Case) -> None:
    assert verdict.build(quiet).severity == "none"
    run = quiet.evidence
    tables = {
        field.name: getattr(run, field.name).clear()
        for field in dataclasses.fields(run)
        if field.init and isinstance(getattr(run, field.name), pl.DataFrame)
    }
    empty = dataclasses.replace(run, **tables)
    nothing = Case(empty, Analysis(()))
    assert verdict.build(nothing).severity == "unjudged"
    assert "\N{CHECK MARK}" not in encoded(build(nothing)).decode().partition("<script")[0]


def test_flows_are_shown_against_each_other_at_a_glance(case: Case) -> None:
    (chart,) = verdict.build(case).charts
    assert chart.title == "Goodput, flow against flow"
    assert [trace["name"] for trace in chart.spec["data"]] == [
        "flow 0 (prague, ECT(1))",
        "flow 1 (ECT(0))",
    ]
    run = case.evidence
    one = dataclasses.replace(run, directions=run.directions.filter(pl.col("flow") == 0))
    (chart,) = verdict.build(Case(one, case.analysis)).charts
    assert chart.title == "Goodput"
    assert len(chart.spec["data"]) == 1


def test_both_ways_of_one_flow_have_names_of_their_own(case: Case) -> None:
    run = case.evidence
    one = [
        table.with_columns(flow=pl.lit(0, table.schema["flow"]), forward=pl.col("flow") == 0)
        for table in (run.directions, run.rounds)
    ]
    both = dataclasses.replace(run, directions=one[0], rounds=one[1])
    (chart,) = verdict.build(Case(both, Analysis(()))).charts
    assert {trace["name"] for trace in chart.spec["data"]} == {
        "flow 0 from its client (prague, ECT(1))",
        "flow 0 from its server (ECT(0))",
    }
    assert "Mean: flow 0 from its server " in chart.caption


def test_the_chart_at_a_glance_is_of_what_the_headline_says(case: Case) -> None:
    """`Queue delay spiked` stood beside goodput."""
    assert set(glance.SHOWS) <= {rule.code for rule in RULES}
    axis = case.axis
    span = (axis.origin_ns, axis.origin_ns + round(axis.length * 1e9 / 4))
    worst = dataclasses.replace(case.analysis.findings[0], rule="L4S503", span_ns=span)
    (chart,) = verdict.build(Case(case.evidence, Analysis((worst,)))).charts
    assert (chart.key, chart.title) == ("sharing", "Queue delay, flow 0")
    assert [shape["x1"] for shape in chart.spec["layout"]["shapes"]] == [axis.length / 4]
    whole = dataclasses.replace(worst, rule="L4S405", span_ns=None)
    (chart,) = verdict.build(Case(case.evidence, Analysis((whole,)))).charts
    assert chart.title == "Round-trip time, flow 0"
    assert "shapes" not in chart.spec["layout"]


@pytest.mark.parametrize(
    "captures", ["user-space/pq1-[ab]", "accecn-bleached/*", "misfire/misfire"]
)
def test_no_clause_stands_twice_at_a_glance(captures: str) -> None:
    """Headline, paragraph and lines of the verdict, of three words and more."""
    paths = sorted(str(path) for path in FIXTURES.glob(f"{captures}.pcap.xz"))
    evidence = pipeline.derive(pipeline.read(paths))
    section = verdict.build(Case(evidence, pipeline.judge(evidence)))
    lines = (text for _, text in section.frame)
    text = ". ".join([section.headline, section.paragraph, section.status.sentence, *lines])
    clauses = [clause.strip(" .") for clause in re.split(r"[.;:] ", text.casefold())]
    long = [clause for clause in clauses if len(clause.split()) > 2]
    assert len(long) == len(set(long))


def test_why_accecn_failed_is_said_by_the_paragraph_alone(case: Case) -> None:
    reason = "No: flow 0 requested AccECN, but did not get it. The server answered without ECN."
    worst = dataclasses.replace(case.analysis.findings[0], rule="L4S101")
    status = Status("no", reason)
    for finding, said in ((worst, reason.partition(". ")[0] + "."), (None, reason)):
        found = Analysis((finding,) if finding else (), status=status)
        assert verdict.build(Case(case.evidence, found)).status.sentence == typeset(said)
