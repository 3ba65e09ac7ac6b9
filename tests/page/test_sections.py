"""Sections as plain data: nothing here reads HTML."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter

import polars as pl
import pytest

from l4strace.derive.short_flows import FEW_BYTES
from l4strace.model import Analysis, Skipped, VerdictLines
from l4strace.page.build import build
from l4strace.page.case import MAX_CHARTED, MAX_LISTED, Case
from l4strace.page.fill import encoded
from l4strace.page.sections import (
    SECTIONS,
    detector,
    findings,
    flows,
    glossary,
    paths,
    provenance,
    quality,
    rules,
    timelines,
    verdict,
)
from l4strace.wording.glossary import GLOSSARY


def test_a_finding_shows_where_and_how_to_look(case: Case) -> None:
    card = findings.build(case).cards[0]
    (place,) = card.places
    assert place.flow == "flow 0: 10.0.1.2:40001 → 10.0.3.2:5201"
    assert (place.flow_key, place.source) == ("flow-0", "sender.pcapng.xz")
    assert place.time == "t=0.4 s to t=19.8 s"
    assert dict(place.filters)["these frames"] == "frame.number in {2281, 2340}"
    assert "tcp.port == 40001" in dict(place.filters)["this flow"]


def test_a_finding_carries_the_doubts_about_its_capture(case: Case) -> None:
    by_rule = {card.rule: card for card in findings.build(case).cards}
    assert by_rule["L4S301"].caveats == (by_rule["L4S002"].message,)
    assert by_rule["L4S002"].caveats == ()


def test_ids_of_findings_are_stable_and_differ(case: Case) -> None:
    twice = [*case.analysis.findings, case.analysis.findings[0]]
    assert findings.finding_ids(twice) == [
        "L4S301-flow-0",
        "L4S302-flow-0",
        "L4S002",
        "L4S501-flow-0",
        "L4S401-flow-0",
        "L4S301-flow-0-2",
    ]


def test_flows_show_marks_with_their_bounds(case: Case) -> None:
    rows = flows.build(case).rows
    assert [row.flow for row in rows] == [0, 1]
    assert rows[0].ce.text == "352 (352\N{EN DASH}354)"
    assert (rows[0].worst, rows[0].bottleneck, rows[0].charted) == ("error", "L4S AQM", True)
    assert [(part.label, part.percent) for part in rows[0].codepoints] == [("ECT(1)", 100.0)]


def test_flows_show_a_dscp_that_is_not_best_effort(case: Case) -> None:
    assert {row.dscp for row in flows.build(case).rows} == {""}
    run = case.evidence
    marked = run.directions.with_columns(dscp=pl.lit(45, pl.UInt8))
    rows = flows.build(Case(dataclasses.replace(run, directions=marked), case.analysis)).rows
    assert {row.dscp for row in rows} == {"DSCP 45 (NQB)"}


def test_a_flow_shorter_than_a_round_trip_reached_no_rate(case: Case) -> None:
    run = case.evidence
    brief = run.directions.with_columns(last_ns=pl.col("first_ns") + 40_000)
    rows = flows.build(Case(dataclasses.replace(run, directions=brief), case.analysis)).rows
    assert {row.goodput.text for row in rows} == {""}


def test_timelines_say_how_many_rounds_a_row_stands_for(case: Case) -> None:
    several = case.evidence.rounds.with_columns(round_trips=pl.lit(3, pl.UInt32))
    run = dataclasses.replace(case.evidence, rounds=several)
    about = timelines.build(Case(run, case.analysis)).flows[0].about
    rows = Case(run, case.analysis).charted[0].rounds.height
    assert f"sender.pcapng.xz, {3 * rows:,} in {rows:,} rows; " in about


def test_timelines_come_from_the_capture_near_the_sender(case: Case) -> None:
    first = timelines.build(case).flows[0]
    assert first.about == (
        "Rounds as seen in sender.pcapng.xz; arrivals in receiver.pcapng.xz; "
        "kernel state from trace.txt.zst."
    )
    names = [chart.key.removesuffix("-flow-0") for chart in first.charts]
    assert names == [
        "goodput", "classic_ecn", "queue", "rtt", "marks", "codepoints", "alpha", "window",
        "reductions",
    ]  # fmt: skip


def test_the_window_is_drawn_where_packets_show_it(case: Case) -> None:
    """A line would claim the rounds between."""
    charts = {chart.key: chart for chart in timelines.build(case).flows[0].charts}
    modes = {trace.get("name"): trace["mode"] for trace in charts["window-flow-0"].spec["data"]}
    assert modes["cwnd, from packets"] == "markers"
    assert modes["snd_cwnd, kernel"] == "lines"
    assert "Packets show cwnd in " in charts["window-flow-0"].caption


def test_alpha_from_packets_carries_the_bounds_of_the_marks(case: Case) -> None:
    charts = {chart.key: chart for chart in timelines.build(case).flows[0].charts}
    names = {trace.get("name") for trace in charts["alpha-flow-0"].spec["data"]}
    assert {"kernel", "bounds of the CE count and of the start", "replayed from packets"} <= names


def test_a_classic_sender_has_no_alpha_and_no_score(case: Case) -> None:
    second = timelines.build(case).flows[1]
    names = {chart.key.removesuffix("-flow-1") for chart in second.charts}
    assert not names & {"alpha", "classic_ecn"}


def test_a_score_that_no_kernel_recorded_is_shown_as_computed(case: Case) -> None:
    kernel = case.evidence.kernel
    unscored = kernel.with_columns(pl.lit(None, kernel.schema["classic_ecn"]).alias("classic_ecn"))
    run = dataclasses.replace(case.evidence, kernel=unscored)
    charts = {chart.key: chart for chart in build(Case(run, case.analysis)).charts}
    assert "what Prague's detector would compute" in charts["classic_ecn-flow-0"].caption


def test_captions_hold_the_numbers_of_the_charts(case: Case) -> None:
    captions = {chart.key: chart.caption for chart in build(case).charts}
    assert "first passed 8 at t=0.4 s" in captions["classic_ecn-flow-0"]
    assert "between 352 and 354, most likely 352" in captions["marks-flow-0"]
    assert captions["depth-steps-flow-0"].endswith("100 % below the reference of 2 ms.")
    assert captions["score-histogram-flow-0"].startswith("240 reductions: ")


def test_the_detector_names_the_build(case: Case, quiet: Case) -> None:
    assert detector.build(case).flows[0].build == (
        "The arithmetic of 9 steps matches the 24-bit buggy build"
    )
    assert detector.build(quiet).flows[0].build == ""


def test_the_detector_shows_why_it_is_absent(case: Case) -> None:
    run = dataclasses.replace(case.evidence, detector=case.evidence.detector.clear())
    section = detector.build(Case(run, case.analysis))
    assert not section.flows
    assert "never runs" in section.absent


def test_paths_distinguish_marks_from_changes(case: Case) -> None:
    section = paths.build(case)
    assert " packets at both ends: " in section.summary
    first, second = section.rows
    assert [(part.arrived, part.kind) for part in first.transitions] == [
        ("ECT(1)", "kept"),
        ("CE", "marked"),
    ]
    assert ("Not-ECT", "changed") in [(part.arrived, part.kind) for part in second.transitions]


def test_quality_puts_losses_first_and_groups_rules(case: Case) -> None:
    skipped = (
        Skipped("one capture", rule="L4S107", flow=1),
        Skipped("one capture", rule="L4S107", flow=2),
        Skipped("no host file", rule="L4S601"),
        Skipped("no host file", rule="L4S602"),
    )
    analysis = dataclasses.replace(case.analysis, skipped=skipped)
    section = quality.build(Case(case.evidence, analysis))
    assert [row.name for row in section.stats] == ["capture drops", "neither TCP nor UDP"]
    assert [([code for code, _ in row.rules], row.flows) for row in section.skipped] == [
        (["L4S107"], "flow 1, 2"),
        (["L4S601", "L4S602"], ""),
    ]


def test_provenance_names_inputs_clocks_and_versions(case: Case) -> None:
    section = provenance.build(case)
    assert section.sources[0].sha256 == "ab" * 32
    assert "matched events agree within 1.2 µs" in section.sources[2].clock
    assert {name for name, _ in section.versions} >= {"polars", "plotly.js", "Python"}
    assert section.stamp == ""


def test_rules_carry_their_manual(case: Case) -> None:
    section = rules.build(case)
    assert [entry.code for entry in section.found] == [
        "L4S002",
        "L4S301",
        "L4S302",
        "L4S401",
        "L4S501",
    ]
    headings = {passage.heading for passage in section.found[0].passages}
    assert headings >= {"What it checks", "What to do", "References"}


def test_rules_are_grouped_by_what_came_of_them(case: Case) -> None:
    section = rules.build(case)
    groups = [{one.code for one in group} for group in section]
    assert sum(map(len, groups)) == len(set().union(*groups)) == len(case.analysis.rules)
    assert all(entry.missing for entry in section.unjudged)
    assert "L4S601" in groups[1]
    html = encoded(build(case)).decode()
    assert all(html.count(f'id="rule-{code}"') == 1 for code in set().union(*groups))


def test_every_term_of_the_glossary_is_on_the_page(case: Case) -> None:
    terms = glossary.build(case).terms
    assert [(term.name, term.meaning) for term in terms] == list(GLOSSARY.items())
    assert len({term.key for term in terms}) == len(terms)


def test_every_title_of_a_table_says_what_it_is_the_title_of(case: Case) -> None:
    html = encoded(build(case)).decode()
    titles = re.findall(r"<th[ >][^>]*", html)
    assert len(titles) > 30
    assert [title for title in titles if "scope=" not in title] == []


def test_every_section_is_on_the_page(case: Case) -> None:
    html = encoded(build(case)).decode()
    navigation = html[html.index("<nav ") : html.index("</nav>")]
    places = [html.index(f'id="{section.name}"') for section in build(case).sections]
    assert len(places) == len(SECTIONS)
    assert places == sorted(places)
    for section in build(case).sections:
        assert (f'href="#{section.name}"' in navigation) == bool(section.title)


def test_many_flows_are_counted_and_not_shown(case: Case) -> None:
    run, count = case.evidence, MAX_LISTED + 1
    numbers = pl.DataFrame({"number": range(count)}, schema={"number": pl.UInt32})

    def multiplied(table: pl.DataFrame) -> pl.DataFrame:
        one = table.filter((pl.col("flow") == 1) & (pl.col("source") == 0))
        spread = one.join(numbers, how="cross").with_columns(pl.col("number").alias("flow"))
        return spread.drop("number")

    many = dataclasses.replace(
        run, flows=multiplied(run.flows), directions=multiplied(run.directions)
    )
    report = build(Case(many, Analysis(())))
    assert len(report["flows"].rows) == MAX_LISTED
    assert len(report["flows"].first) == flows.PAGE_ROWS
    assert report["flows"].left_out.startswith("Not listed: 1 more flow direction ")
    assert len(report["timelines"].flows) == MAX_CHARTED


def test_many_findings_are_counted_and_not_shown(case: Case) -> None:
    many = [
        dataclasses.replace(finding, message=f"{finding.message} {number}")
        for number in range(100)
        for finding in case.analysis.findings
    ]
    section = findings.build(Case(case.evidence, Analysis(tuple(many))))
    shown = Counter(card.rule for card in section.cards)
    rules_found = {finding.rule for finding in case.analysis.findings}
    assert shown == dict.fromkeys(rules_found, findings.MAX_OF_A_RULE)
    assert section.left_out.startswith("400 more findings")
    assert len(section.cards[0].caveats) == findings.MAX_CAVEATS
    first = section.groups[0]
    assert len(first.cards) == findings.OPEN_OF_A_RULE
    assert first.more == "17 more findings of L4S301"


def test_findings_in_the_same_words_share_a_card(case: Case) -> None:
    worst = case.analysis.findings[0]
    alike = (worst, dataclasses.replace(worst, flow=1), dataclasses.replace(worst, message="other"))
    first, second = findings.build(Case(case.evidence, Analysis(alike))).cards
    assert [place.key for place in first.places] == ["L4S301-flow-0", "L4S301-flow-1"]
    assert [place.key for place in second.places] == ["L4S301-flow-0-2"]


def test_a_card_does_not_repeat_a_line_of_the_verdict(case: Case) -> None:
    """Recorded run accecn-clean: the line on the fallback stood in the card of L4S308, too."""
    fallback = "The sender's reductions follow alpha/2: a classic-ECN fallback does not act."
    one = dataclasses.replace(case.analysis.findings[-1], message=fallback)
    for line, told in ((fallback, True), ("Not in this kernel.", False)):
        analysis = Analysis((one,), frame=VerdictLines("", "", line))
        (card,) = findings.build(Case(case.evidence, analysis)).cards
        assert (card.told, not card.message) == (told, told)


def test_an_accused_flow_of_a_few_packets_has_no_charts(case: Case) -> None:
    """Lab run i: eight empty charts of a control connection of 862 bytes."""
    for size, flows_drawn in ((FEW_BYTES, [1]), (FEW_BYTES + 1, [0, 1])):
        small = case.evidence.directions.with_columns(
            pl.when(pl.col("flow") == 0)
            .then(pl.lit(size, pl.UInt64))
            .otherwise("payload_bytes")
            .alias("payload_bytes")
        )
        run = dataclasses.replace(case.evidence, directions=small)
        charted = Case(run, case.analysis).charted
        assert sorted({one.flow for one in charted}) == flows_drawn


@pytest.fixture(scope="module")
def logged(case: Case) -> Case:
    """The kernel log of the misfire without captures: it knows ports alone."""
    ports = pl.lit(None, dtype=pl.String)
    run = case.evidence
    alone = {
        "flows": run.flows.with_columns(client=ports, server=ports),
        "sources": run.sources.filter(pl.col("tcp_packets").is_null()),
        "detector": run.detector.filter(pl.col("origin") == "kernel"),
        "cuts": run.cuts.filter(pl.col("origin") == "kernel"),
    }
    empty = ("directions", "rounds", "paths", "bottlenecks", "coexistence", "spikes")
    alone |= {name: getattr(run, name).clear() for name in empty}
    source = int(alone["sources"]["source"][0])
    alone["flows"] = (
        alone["flows"].unique("flow").with_columns(source=pl.lit(source, dtype=pl.UInt16))
    )
    return Case(dataclasses.replace(run, **alone), case.analysis)


def test_a_kernel_log_alone_is_charted(logged: Case) -> None:
    charted = timelines.build(logged).flows
    assert charted[0].name == "?:40001 \N{RIGHTWARDS ARROW} ?:5201"
    assert charted[0].about.startswith("Kernel state from")
    drawn = {chart.key.split("-")[0]: chart for chart in charted[0].charts}
    assert {"classic_ecn", "alpha", "window"} <= drawn.keys()
    assert "rounds" not in drawn["window"].caption
    assert detector.build(logged).absent == ""


def test_the_figures_of_a_log_are_of_the_flow_that_it_holds_most_of(logged: Case) -> None:
    counts = logged.evidence.kernel["flow"].value_counts(sort=True)
    largest = logged.direction(None, forward=True)
    assert largest is not None
    assert largest.flow == counts["flow"][0]


def test_a_kernel_log_alone_shows_nothing_of_packets(logged: Case) -> None:
    row = flows.build(logged).rows[0]
    assert (row.payload.text, row.goodput.text, row.codepoints) == ("\N{EN DASH}", "", ())
    assert row.payload.value is None
    assert paths.build(logged).absent.startswith("No capture among the inputs")
    (chart,) = verdict.build(logged).charts
    assert chart.title != "Goodput"


def test_a_flow_without_addresses_is_filtered_by_its_ports(logged: Case) -> None:
    filters = dict(findings.build(logged).cards[0].places[0].filters)
    assert filters["this flow"] == "tcp.port == 40001 && tcp.port == 5201"


def test_a_story_is_linked_both_ways_and_has_one_remedy(case: Case) -> None:
    html = encoded(build(case)).decode()
    by_rule = {card.rule: card for card in findings.build(case).cards}
    story = {rule: card.places[0].story for rule, card in by_rule.items()}
    assert [step.key for step in story["L4S501"].causes] == ["L4S301-flow-0"]
    assert [step.key for step in story["L4S301"].causes] == ["L4S302-flow-0"]
    assert [step.key for step in story["L4S301"].effects] == ["L4S501-flow-0"]
    remedy = next(one.action for one in case.analysis.findings if one.rule == "L4S302")
    assert html.count(remedy.rpartition("rebuild ")[2].split("(")[0]) == 1
    assert by_rule["L4S501"].action == by_rule["L4S302"].action == ""


def test_the_scale_of_alpha_shows_it_after_its_start(case: Case) -> None:
    (chart,) = (c for c in build(case).charts if c.key == "alpha-flow-0")
    low, high = chart.spec["layout"]["yaxis"]["range"]
    late = case.charted[0].kernel.filter(pl.col("x") > 0.2 * case.axis.length)["alpha"].max()
    assert low == 0
    assert late < high < 1
    assert "The scale ends at" in chart.caption
