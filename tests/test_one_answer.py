"""One number a question: page, terminal, Markdown and JSON of every recorded run agree."""

from __future__ import annotations

import html
import json
import re
from functools import cache

import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.model import Analysis
from l4strace.output import json as as_json
from l4strace.output import markdown, text
from l4strace.page import render
from l4strace.page.build import build
from l4strace.page.case import Case
from l4strace.page.sections.findings import fact
from l4strace.rules import RULES
from l4strace.wording import measures
from l4strace.wording.measures import OF_PACKETS
from tests.support.places import FIXTURES

RUNS = (
    "misfire/misfire.pcap.xz",
    "healthy/healthy.pcap.xz",
    "dctcp/dctcp.pcapng.xz",
    *sorted(str(path.relative_to(FIXTURES)) for path in FIXTURES.glob("accecn-*/sender.pcap.xz")),
)
BARE = {"queue delay", "RTT deviation", "share", "queue delay, median"}
"""Names that do not say which of several values they have."""


@cache
def judged(run: str) -> tuple[Evidence, Analysis]:
    path = str(FIXTURES / run)
    folder = (FIXTURES / run).parent
    logs = [str(log) for log in folder.glob(f"{(FIXTURES / run).name.split('.')[0]}.*.zst")]
    evidence = pipeline.derive(pipeline.read([path, *logs]))
    return evidence, pipeline.judge(evidence, strict=True)


every_run = pytest.mark.parametrize("run", RUNS)


@every_run
def test_measures_of_one_name_have_one_value(run: str) -> None:
    """Of one flow, whatever rule states it."""
    evidence, analysis = judged(run)
    values: dict[tuple[int | None, bool | None, str], set[str]] = {}
    for row in json.loads(as_json.render(evidence, analysis))["findings"]:
        for one in row["measures"]:
            assert one["name"] not in BARE, row["rule"]
            if row["flow"] is not None:
                key = row["flow"], row["forward"], one["name"]
                values.setdefault(key, set()).add(f"{one['value']} {one['unit']}")
    assert {key: found for key, found in values.items() if len(found) > 1} == {}


@every_run
def test_every_form_shows_the_same_numbers(run: str) -> None:
    evidence, analysis = judged(run)
    page = html.unescape(render(evidence, analysis).partition('<script type="text/plain"')[0])
    terminal = text.render(evidence, analysis, width=1000)
    ticket = markdown.render(evidence, analysis)
    for finding in analysis.findings:
        for one in finding.measures:
            shown = fact(one)
            assert f"<dt>{shown.name}</dt><dd><b>{shown.value}</b>" in page
            if finding.severity > 0:
                assert measures.line(one) in terminal
            assert markdown.text(measures.line(one)) in ticket


@every_run
def test_every_form_opens_with_the_same_headline(run: str) -> None:
    evidence, analysis = judged(run)
    headline = json.loads(as_json.render(evidence, analysis))["verdict"]["headline"]
    assert text.render(evidence, analysis, width=1000).splitlines()[0] == headline
    assert markdown.render(evidence, analysis).startswith(f"**{markdown.text(headline)}**")
    assert build(Case(evidence, analysis)).headline.replace("\u00a0", " ") == headline


@every_run
def test_every_finding_has_a_headline_of_its_rule(run: str) -> None:
    _, analysis = judged(run)
    known = {rule.code: rule.headlines for rule in RULES}
    for finding in analysis.findings:
        flow = "a flow" if finding.flow is None else f"flow {finding.flow}"
        said = [one.replace("{flow}", flow) for one in known[finding.rule]]
        assert finding.headline in [one[0].upper() + one[1:] for one in said]


@every_run
def test_the_table_of_traffic_and_the_findings_agree_on_queue_delay(run: str) -> None:
    evidence, analysis = judged(run)
    rows = {row.key: row.delay for row in build(Case(evidence, analysis))["traffic"].rows}
    for finding in analysis.findings:
        key = f"flow-{finding.flow}{'' if finding.forward else '-reverse'}"
        for one in finding.measures:
            if one.name == OF_PACKETS and key in rows:
                assert rows[key].partition(" / ")[0] == fact(one).value


@every_run
def test_the_score_rises_at_one_moment(run: str) -> None:
    evidence, analysis = judged(run)
    report = build(Case(evidence, analysis))
    for finding in analysis.findings:
        if finding.rule != "L4S301":
            continue
        (said,) = re.findall(r"from (t=[\d.]+ s)", finding.message)
        (chart,) = (c for c in report.charts if c.key == f"classic_ecn-flow-{finding.flow}")
        assert f"first passed 8 at {said}" in chart.caption.replace("\u00a0", " ")
