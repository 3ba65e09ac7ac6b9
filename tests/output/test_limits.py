"""Many flows: JSON has every finding, and each form for people bounds what it shows."""

import json

import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.model import Analysis
from l4strace.output import json as as_json
from l4strace.output import markdown, sarif, text
from l4strace.page import render
from l4strace.page.render import MAX_BYTES
from l4strace.page.sections.findings import MAX_OF_A_RULE
from tests.support.frames import evidence, frame

FLOWS = 500
ALL = list(range(FLOWS))


@pytest.fixture(scope="module")
def run() -> Evidence:
    """Every flow began before the capture (L4S004) and has a bottleneck of its own (L4S401)."""
    return evidence(
        sources=frame("sources", records=FLOWS, first_ns=0, last_ns=20 * 10**9),
        flows=frame("flows", flow=ALL, client_port=[10_000 + flow for flow in ALL],
                    handshake="none"),
        directions=frame("directions", flow=ALL, payload_bytes=[1000 + flow for flow in ALL]),
        bottlenecks=frame("bottlenecks", flow=ALL, kind="fifo", confidence=0.9,
                          reason=[f"The queue stood at {flow + 5} ms." for flow in ALL]),
    )  # fmt: skip


@pytest.fixture(scope="module")
def analysis(run: Evidence) -> Analysis:
    return pipeline.judge(run, ["L4S004", "L4S401"])


def test_rules_and_json_keep_every_finding(run: Evidence, analysis: Analysis):
    found = json.loads(as_json.render(run, analysis))["findings"]
    for rule in ("L4S004", "L4S401"):
        assert sorted(row["flow"] for row in found if row["rule"] == rule) == ALL
    (results,) = (part["results"] for part in json.loads(sarif.render(run, analysis))["runs"])
    assert len(results) == 2 * FLOWS


def test_the_terminal_shows_some_and_counts_the_others(run: Evidence, analysis: Analysis):
    shown = text.render(run, analysis)
    assert len(shown.splitlines()) < 80
    assert f"and {FLOWS - text.PLACES_SHOWN} more flows" in shown
    assert f"L4S401: {FLOWS - text.FINDINGS_OF_A_RULE} more findings" in shown


def test_a_ticket_shows_some_and_counts_the_others(run: Evidence, analysis: Analysis):
    shown = markdown.render(run, analysis)
    assert f"{2 * FLOWS - 2 * markdown.FINDINGS_OF_A_RULE} more findings left out." in shown


def test_the_page_keeps_its_size(run: Evidence, analysis: Analysis):
    page = render(run, analysis)
    assert len(page.encode()) < MAX_BYTES / 2
    # L4S004 says the same everywhere: one card with its places; each bottleneck is a card.
    assert page.count("<article") == 1 + MAX_OF_A_RULE
    assert "960 more findings not shown" in page
