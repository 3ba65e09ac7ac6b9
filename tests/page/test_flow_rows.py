"""Rows of the table of flows: what a template made of them, text by text."""

from __future__ import annotations

import re
from html import unescape

import pytest

from l4strace.page import fill
from l4strace.page.flow_rows import flow_rows
from l4strace.page.sections.flows import Amount, Codepoint, FlowRow

ROW = FlowRow(
    flow=3,
    key="flow-3-reverse",
    name="10.0.0.2:80 → [fd00::1]:40001",
    mode="accecn",
    reason="the SYN/ACK's <ACE>",
    sender='prague & "others"',
    payload=Amount("1.2 MB", 1_200_000),
    goodput=Amount("", None),
    codepoints=(Codepoint("ect1", "ECT(1)", 12_345, 99.5), Codepoint("ce", "CE", 62, 0.5)),
    ce=Amount("62", 62),
    retransmits=Amount("0", 0),
    rtt=Amount("10 ms / 12.5 ms", 9_999.5),
    bottleneck="L4S AQM",
    bottleneck_reason="marks from 1 ms on",
    worst="error",
    charted=False,
)


def html(row: FlowRow) -> str:
    return str(flow_rows(fill.environment(), [row]))


def test_a_row_has_every_value_in_its_cell() -> None:
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html(ROW))
    texts = [" ".join(unescape(re.sub(r"<[^>]*>", " ", cell)).split()) for cell in cells]
    assert texts == [
        'flow 3 prague & "others" ✖ error 10.0.0.2:80 → [fd00::1]:40001',
        "accecn",
        "1.2 MB",
        "",
        "ECT(1) 12,345 CE 62",
        "62",
        "0",
        "10 ms / 12.5 ms",
        "L4S AQM",
    ]
    assert re.findall(r'data-value="(.*?)"', html(ROW)) == ["1200000", "", "62", "0", "9999.5"]


@pytest.mark.parametrize("charted", [True, False])
def test_a_row_leads_to_its_charts_or_is_the_place_itself(charted: bool) -> None:
    made = html(ROW._replace(charted=charted))
    assert ('href="#flow-3-reverse"' in made) == charted
    assert ('<tr id="flow-3-reverse">' in made) == (not charted)


def test_texts_are_escaped_as_templates_do() -> None:
    assert 'title="the SYN/ACK&#39;s &lt;ACE&gt;"' in html(ROW)
    assert "prague &amp; &#34;others&#34;" in html(ROW)
    assert "\x1b" not in html(ROW._replace(name="a\x1b[31m"))
