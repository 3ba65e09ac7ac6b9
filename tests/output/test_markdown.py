"""Markdown for tickets: escaped, and small enough."""

import re
from dataclasses import replace

from l4strace.model import Analysis, Confidence, Finding, Measure, Severity, Skipped, Status
from l4strace.output import markdown
from tests.support.frames import evidence, frame

RUN = evidence(sources=frame("sources"), flows=frame("flows"), directions=frame("directions"))

BULK = Measure("x" * 200, 1)


def finding(message: str, flow: int = 0) -> Finding:
    return Finding(
        Severity.ERROR, Confidence.HIGH, message, rule="L4S104", flow=flow, frames=(4, 5)
    )


def test_opens_with_the_verdict_and_lists_findings():
    shown = markdown.render(RUN, Analysis((finding("bleached here"),)))
    assert shown.startswith("**bleached here**")
    assert "| **error**, high confidence | L4S104" in shown
    assert "`frame.number in {4, 5}`" in shown


def test_headline_then_paragraph_then_whether_this_is_l4s():
    status = Status("no", "No: flow 0 did not request AccECN.")
    found = replace(finding("bleached here"), headline="The path is odd", action="Mend it.")
    shown = markdown.render(RUN, Analysis((found,), status=status))
    assert shown.startswith(
        "**The path is odd**\n\nbleached here\n\n**Do:** Mend it.\n\n"
        "- L4S: No: flow 0 did not request AccECN."
    )
    assert (shown.count("bleached here"), shown.count("Mend it.")) == (1, 1)


def test_markup_in_names_shows_as_it_is():
    sources = frame("sources", path="`a`|<script>.pcap")
    run = evidence(sources=sources, flows=frame("flows"), directions=frame("directions"))
    shown = markdown.render(run, Analysis((finding("<img> | [x]"),)))
    assert "\\<img\\> \\| \\[x\\]" in shown
    assert "`'a'¦<script>.pcap`" in shown


def test_stays_under_60_kilobytes():
    rules = (f"L4S{number}" for number in range(100, 200))
    many = tuple(replace(finding("x" * 3000, 0), rule=rule) for rule in rules)
    shown = markdown.render(RUN, Analysis(many))
    assert len(shown.encode()) <= markdown.MAX_BYTES
    assert "Cut here" in shown


def test_flows_that_do_not_fit_are_counted():
    many = list(range(70))
    run = evidence(
        sources=frame("sources"),
        flows=frame("flows", flow=many),
        directions=frame("directions", flow=many, payload_bytes=many),
    )
    assert "\n10 more flows left out." in markdown.render(run, Analysis(()))


def test_evidence_and_what_was_not_judged_are_folded():
    skipped = (Skipped("one capture", rule="L4S109"), Skipped("one capture", rule="L4S107"))
    shown = markdown.render(RUN, Analysis((finding("bleached"),), skipped))
    open_part = re.sub(r"<details>.*?</details>", "", shown, flags=re.DOTALL)
    assert "bleached" in open_part
    assert "frame.number" not in open_part
    assert "one capture" not in open_part
    assert "<summary>Not judged: 2 rules</summary>" in shown


def test_what_is_cut_is_closed():
    many = tuple(replace(finding("short"), rule=f"L4S{n}", measures=(BULK,) * 9) for n in range(99))
    shown = markdown.render(RUN, Analysis(many))
    assert len(shown.encode()) <= markdown.MAX_BYTES
    assert shown.count("<details>") == shown.count("</details>") == 1


def test_nobody_is_notified():
    shown = markdown.render(RUN, Analysis((finding("seen by @torvalds and @org/team"),)))
    assert "@torvalds" not in shown
    assert "@org" not in shown
    assert "torvalds" in shown
