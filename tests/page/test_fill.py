"""The page as a whole: what it must hold whatever the data, and what it must never do."""

from __future__ import annotations

import dataclasses
import re

import polars as pl
import pytest

from l4strace.model import Analysis, Confidence, Finding, Measure, Severity, Skipped, Status
from l4strace.page import render
from l4strace.page.fill import POLICY, _shown, embedded
from l4strace.page.render import MAX_BYTES
from l4strace.rules import RULES
from tests.support import synthetic
from tests.support.frames import frame

HOSTILE = "<script>alert(1)</script>\"'&</style></script><img src=x onerror=alert(2)>"

HOST = {"host": 0, "path": HOSTILE, "subject": HOSTILE, "name": ["net.x", "cc", HOSTILE, "release"]}
"""Columns of `hosts`; the rest of its text is hostile too."""


@pytest.fixture(scope="module")
def page() -> str:
    return render(
        synthetic.misfire(), synthetic.misfire_analysis(), command="l4strace diagnose a.pcap"
    )


def test_the_policy_lets_no_request_out(page: str) -> None:
    assert f'http-equiv="Content-Security-Policy" content="{POLICY}"'.replace("'", "&#39;") in page
    assert POLICY.startswith("default-src 'none'")
    # Neither address nor import that a browser would follow by itself.
    assert not re.search(r'(?:src|srcset|action|data)="(?:https?:)?//', page)
    assert not re.search(r"<link\b|@import|<iframe|<object|<embed", page)


def test_the_same_input_gives_the_same_bytes(page: str) -> None:
    again = render(
        synthetic.misfire(), synthetic.misfire_analysis(), command="l4strace diagnose a.pcap"
    )
    assert again == page


def test_the_page_says_when_it_was_made_only_when_asked() -> None:
    stamped = render(synthetic.healthy(), Analysis(()), stamp="2026-11-21T12:00:00Z")
    assert "Made 2026-11-21T12:00:00Z" in stamped


def test_the_page_names_its_generator_early(page: str) -> None:
    assert '<meta name="generator" content="l4strace' in page[:4096]


def test_the_page_keeps_its_budget(page: str) -> None:
    assert len(page.encode()) <= MAX_BYTES


def test_hostile_strings_are_shown_and_nothing_else() -> None:
    run = synthetic.misfire()
    sources = run.sources.with_columns(
        pl.lit(HOSTILE).alias("path"), pl.lit(HOSTILE).alias("comment")
    )
    flows = run.flows.with_columns(
        pl.lit(HOSTILE).alias("client"), pl.lit(HOSTILE).alias("mode_reason")
    )
    kernel = run.kernel.with_columns(pl.lit(HOSTILE).alias("cc"))
    stats = run.stats.with_columns(pl.lit(HOSTILE).alias("detail"))
    hosts = frame("hosts", topic=["sysctl", "socket", "qdisc", "kernel"], value=HOSTILE, **HOST)
    hostile = dataclasses.replace(
        run, sources=sources, flows=flows, kernel=kernel, stats=stats, hosts=hosts
    )
    finding = Finding(
        Severity.ERROR,
        Confidence.HIGH,
        HOSTILE,
        HOSTILE,
        rule="L4S301",
        source=0,
        flow=0,
        forward=True,
        measures=(Measure(HOSTILE, HOSTILE, HOSTILE, HOSTILE),),
    )
    status = Status("no", HOSTILE)
    said = Analysis((finding,), (Skipped(HOSTILE, rule="L4S107"),), RULES, status=status)
    page = render(hostile, said, command=HOSTILE, stamp=HOSTILE)
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    scripts = len(re.findall(r"<script\b", page))
    assert scripts == len(re.findall(r"</script>", page)) == 5


def test_a_command_in_a_remedy_is_set_as_code() -> None:
    finding = Finding(
        Severity.ERROR, Confidence.HIGH, "x", "Run `l4strace <a>` first.", rule="L4S402"
    )
    html = render(synthetic.healthy(), Analysis((finding,), rules=RULES))
    shown = "Run <code>l4strace &lt;a&gt;</code> first."
    assert html.count(shown) == 1


def test_no_line_of_a_caption_ends_before_a_unit(page: str) -> None:
    captions = "".join(re.findall(r"<figcaption>.*?</figcaption>", page, re.DOTALL))
    assert re.search(r"\d\u00a0(?:ms|%)", captions)
    assert not re.search(r"\d (?:ms|µs|s|%)(?!\w)", captions)


def test_json_cannot_end_its_element() -> None:
    assert "<" not in embedded({"a": "</script><!--"})


def test_json_refuses_what_is_no_json() -> None:
    with pytest.raises(ValueError, match="JSON"):
        embedded({"a": float("nan")})


def test_a_run_without_anything_still_gives_a_page() -> None:
    empty = {
        name: frame.clear()
        for name, frame in vars(synthetic.healthy()).items()
        if isinstance(frame, pl.DataFrame)
    }
    page = render(dataclasses.replace(synthetic.healthy(), **empty), Analysis(()))
    assert "No flow to judge" in page


def test_ids_are_unique(page: str) -> None:
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_links_within_the_page_lead_somewhere(page: str) -> None:
    ids = set(re.findall(r'\bid="([^"]+)"', page))
    links = {link.split("&amp;")[0] for link in re.findall(r'href="#([^"]+)"', page)}
    assert links <= ids


def test_units_stay_with_their_number_and_control_characters_are_escaped() -> None:
    assert _shown("0.4\N{NO-BREAK SPACE}ms\x1b[2J") == "0.4\N{NO-BREAK SPACE}ms\\x1b[2J"
