"""The terminal summary: verdict first, 80 columns, no control characters."""

from dataclasses import replace

import polars as pl
import pytest

from l4strace.model import (
    Analysis,
    Confidence,
    Finding,
    Measure,
    Severity,
    Skipped,
    Status,
    VerdictLines,
)
from l4strace.output import flow_lines, json, markdown, text
from tests.support.frames import capture, evidence, frame

BLEACHED = Finding(
    Severity.ERROR,
    Confidence.HIGH,
    "The SYN left here as ECT(1) and arrived as Not-ECT: the path bleaches ECN, all of it, always.",
    "Find the node that clears the field.",
    rule="L4S104",
    flow=0,
    forward=True,
    span_ns=(1_500_000_000, 2_000_000_000),
    frames=tuple(range(1, 10)),
    measures=(Measure("queue depth", 412.0, "us", "under 2 ms"),),
    headline="The path bleaches ECN",
)
RUN = evidence(
    sources=frame("sources", records=1000, first_ns=0, last_ns=2 * 10**9),
    flows=frame("flows"),
    directions=frame("directions"),
)


def test_the_verdict_comes_first_and_says_it_once():
    shown = text.render(RUN, Analysis((BLEACHED,)))
    headline, *rest = shown.split("\n\n")[0].splitlines()
    assert headline == BLEACHED.headline
    assert " ".join(" ".join(rest).split()) == f"{BLEACHED.message} Do: {BLEACHED.action}"
    assert " ".join(shown.split()).count(BLEACHED.message) == 1
    milder = replace(
        BLEACHED, severity=Severity.WARNING, message="Another message.", action="Other."
    )
    shown = text.render(RUN, Analysis((BLEACHED, milder)))
    assert shown.count("Another message.") == 1
    assert shown.count("Do: ") == 2


STATUS = Status("no", "No: flow 0 did not request AccECN.")


def test_whether_this_is_l4s_stands_below_the_verdict():
    shown = text.render(RUN, Analysis((BLEACHED,), status=STATUS))
    assert shown.split("\n\n")[1] == "L4S:        No: flow 0 did not request AccECN."


def test_an_empty_capture_is_not_green():
    nothing = RUN.flows.clear(), RUN.directions.clear()
    empty = replace(RUN, flows=nothing[0], directions=nothing[1])
    assert "\x1b[1;32m" not in text.render(empty, Analysis(()), color=True)
    assert "\x1b[1;32m" in text.render(RUN, Analysis(()), color=True)


def test_a_finding_shows_place_numbers_action_and_filter():
    shown = text.render(RUN, Analysis((BLEACHED,)))
    assert "flow 0: 10.0.1.2:40001 > 10.0.3.2:5201, t=1.5 s to t=2.0 s" in shown
    assert "queue depth: 412 us (expected under 2 ms)" in shown
    assert "Do: Find the node" in shown
    assert "frame.number in {1, 2, 3, 4, 5} and 4 more" in shown


@pytest.mark.parametrize("width", [60, 80, 100])
def test_lines_keep_the_width_and_names_stay_whole(width: int):
    path = "runs/a folder with spaces/the-first-run-of-the-day.pcapng"
    sources = frame("sources", path=path, records=1, first_ns=0, last_ns=2 * 10**9)
    shown = text.render(replace(RUN, sources=sources), Analysis((BLEACHED,)), width=width)
    assert max(map(len, shown.splitlines())) <= width
    assert path in shown
    assert "frame.number in {1, 2, 3, 4, 5}" in shown


def test_nothing_is_wider_than_80_columns():
    flows = frame("flows", client="2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff", client_port=65535)
    shown = text.render(replace(RUN, flows=flows), Analysis((BLEACHED,)))
    assert max(map(len, shown.splitlines())) <= 80
    assert "[2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff]:65535 >" in shown


def test_equal_findings_of_several_flows_are_shown_once():
    same = tuple(replace(BLEACHED, flow=flow) for flow in range(9))
    flows = frame("flows", flow=list(range(9)))
    shown = text.render(replace(RUN, flows=flows), Analysis(same))
    assert shown.count("Do: ") == 1
    assert "and 6 more flows" in shown


def test_control_characters_of_a_name_do_not_reach_the_terminal():
    sources = frame("sources", path="\x1b]0;owned\x07.pcap", records=1)
    shown = text.render(replace(RUN, sources=sources), Analysis(()))
    assert "\x1b" not in shown
    assert "\\x1b]0;owned" in shown


def test_what_the_collector_noted_stands_below_its_log():
    noted = "struct prague matches no known layout; the log omits its fields"
    stats = frame("stats", name=["note", "lost"], detail=[noted, "elsewhere"], count=1)
    run = replace(RUN, stats=stats)
    lines = text.render(run, Analysis(())).splitlines()
    assert f"  note: {noted}" in lines
    assert "elsewhere" not in "".join(lines)
    assert f"  - note: {noted.replace('_', chr(92) + '_')}" in markdown.render(run, Analysis(()))
    assert json.document(run, Analysis(()))["sources"][0]["notes"] == [noted]


def test_colour_only_when_asked_for():
    assert "\x1b[1;31m" in text.render(RUN, Analysis((BLEACHED,)), color=True)
    assert "\x1b" not in text.render(RUN, Analysis((BLEACHED,)))


def test_each_reason_for_not_judging_is_shown_once():
    skipped = (Skipped("one capture", 1, rule="L4S107"), Skipped("one capture", 2, rule="L4S107"),
               Skipped("one capture", rule="L4S109"))  # fmt: skip
    assert "L4S107, L4S109: one capture" in text.render(RUN, Analysis((), skipped))


def test_an_empty_run_claims_nothing():
    assert text.render(evidence(), Analysis(())).startswith("No flow to judge")


def test_of_many_flows_those_that_matter_are_listed():
    flows = frame("flows", flow=list(range(40)), client_port=[50000 + flow for flow in range(40)])
    bytes_of = [10 * flow for flow in range(40)]
    directions = frame("directions", flow=list(range(40)), payload_bytes=bytes_of)
    run = replace(RUN, flows=flows, directions=directions)
    shown = text.render(run, Analysis((replace(BLEACHED, flow=3),)))
    listed = [port for port in range(50000, 50040) if f":{port} " in shown.split("bytes")[-1]]
    assert listed == [50003, *range(50029, 50040)]
    assert "28 more flows; l4strace flows lists all." in shown


def test_a_flow_of_a_kernel_log_alone_is_listed_and_named():
    flows = frame("flows", client=None, server=None, mode="unknown")
    run = evidence(sources=frame("sources"), flows=flows)
    shown = text.render(run, Analysis((BLEACHED,)))
    assert "flow 0: ?:40001 > ?:5201" in shown
    assert "?:40001 ?:5201 unknown -" in shown
    assert "more flow" not in shown


@pytest.mark.parametrize(
    ("counted", "sends"),
    [
        ({"not_ect": 1, "ce": 1000, "data_packets": 1000, "data_ce": 1000}, "CE"),
        ({"ect1": 1, "ce": 999, "data_packets": 1000, "data_ce": 999}, "ECT(1)"),
        ({"ce": 3, "data_packets": 0, "data_ce": 0}, "CE"),
        ({"packets": 0, "data_packets": 0}, "-"),
    ],
)
def test_a_codepoint_is_one_that_packets_carry(counted: dict[str, int], sends: str):
    none = dict.fromkeys(("not_ect", "ect1", "ect0", "ce"), 0)
    directions = frame("directions", **none | counted)
    (line,) = flow_lines.rows(replace(RUN, directions=directions))
    assert line[flow_lines.HEADS.index("sends")] == sends


FRAME = VerdictLines("L4S AQM.", "Flow 0 without another large flow.", "Unknown: no kernel log.")


def test_the_frame_stands_below_the_verdict():
    shown = text.render(RUN, Analysis((BLEACHED,), frame=FRAME)).split("\n\n")
    assert [block.split()[0] for block in shown[:2]] == ["The", "Bottleneck:"]
    assert "Sharing:    Flow 0 without another large flow." in shown[1]


def test_the_congestion_control_has_a_column_where_it_is_known_and_there_is_room() -> None:
    directions = RUN.directions.with_columns(cc=pl.lit("bbr"))
    named = flow_lines.rows(replace(RUN, directions=directions))
    heads = [next(flow_lines.table(lines, 200)).split() for lines in (named, flow_lines.rows(RUN))]
    assert heads[0] == [head for head in flow_lines.HEADS if head != "DSCP"]
    assert heads[1] == [head for head in heads[0] if head != "cc"]
    flat = list(flow_lines.table(flow_lines.rows(RUN), 200))
    assert list(flow_lines.table(named, max(map(len, flat)))) == flat


@pytest.mark.parametrize(
    ("left", "arrived", "shown"),
    [(0, 0, None), (None, None, None), (45, 45, "45"), (45, 0, "45>0"), (0, 45, "0>45")],
)
def test_the_dscp_has_a_column_where_it_is_not_0(
    left: int | None, arrived: int | None, shown: str | None
) -> None:
    run = capture(
        flows=frame("flows", source=[0, 1], vantage=["client", "server"]),
        directions=frame("directions", source=[0, 1], dscp=[left, arrived]),
    )
    heads, line, *_ = flow_lines.known([flow_lines.HEADS, *flow_lines.rows(run)])
    assert (line[heads.index("DSCP")] if "DSCP" in heads else None) == shown
