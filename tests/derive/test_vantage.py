"""One nearest capture, whoever asks."""

from __future__ import annotations

import itertools
from pathlib import Path

import polars as pl
import pytest

import l4strace
from l4strace.derive import vantage
from l4strace.ingest.join import clock
from l4strace.output import flow_lines
from l4strace.output import json as as_json
from l4strace.page.case import Case
from l4strace.rules.support import subjects
from tests.support.frames import capture, evidence, frame
from tests.support.places import FIXTURES

RUN = FIXTURES / "accecn-ect0"
"""The path re-marks, so the two captures of this run differ."""


@pytest.mark.parametrize("order", [("sender", "receiver"), ("receiver", "sender")])
def test_terminal_page_rules_and_json_agree(order: tuple[str, str]) -> None:
    run = l4strace.open(*(str(RUN / f"{name}.pcap.xz") for name in order))
    near = order.index("sender")
    flow = int(run.directions.sort("payload_bytes", descending=True)["flow"][0])
    (forward,) = run.directions.filter(flow=flow, source=near).filter(pl.col("data_packets") > 0)[
        "forward"
    ]

    direction = Case(run.evidence, run.analysis).direction(flow, forward)
    assert direction is not None
    assert (direction.source, direction.far) == (near, 1 - near)

    judged = subjects.once(run.evidence, run.directions).filter(flow=flow, forward=forward)
    assert judged["source"].to_list() == [near]

    document = as_json.document(run.evidence, run.analysis)
    way = "forward" if forward else "reverse"
    named = {row["source"]: row[way]["nearest"] for row in document["flows"] if row["flow"] == flow}
    assert named == {near: True, 1 - near: False}

    seen = run.directions.filter(flow=flow, forward=forward, source=near).row(0, named=True)
    (line,) = flow_lines.rows(run.evidence, [flow])
    assert line[flow_lines.HEADS.index("sends")] == (
        "ECT(1)" if seen["ect1"] > seen["ect0"] else "ECT(0)"
    )
    assert line[flow_lines.HEADS.index("retx")] == str(seen["retransmits"])


def test_the_findings_do_not_depend_on_the_order_of_the_captures() -> None:
    found = []
    for order in (("sender", "receiver"), ("receiver", "sender")):
        run = l4strace.open(*(str(RUN / f"{name}.pcap.xz") for name in order))
        found.append({(f.rule, f.flow, f.forward, f.span_ns) for f in run.analysis.findings})
    assert {row[:3] for row in found[0]} == {row[:3] for row in found[1]}
    assert {row for row in found[0] if row[0] == "L4S103"} == {
        row for row in found[1] if row[0] == "L4S103"
    }


PLACES = ["client", "middle", "unknown", "server"]


@pytest.mark.parametrize("order", list(itertools.permutations(PLACES)))
def test_the_order_of_places(order: tuple[str, ...], tmp_path: Path) -> None:
    flows = frame("flows", source=[0, 1, 2, 3], vantage=list(order))
    directions = pl.concat(
        frame("directions", source=[0, 1, 2, 3], forward=forward) for forward in (True, False)
    )
    near = vantage.nearest(capture(flows=flows, directions=directions)).sort("forward")
    ends = near.select("source", "far").rows()
    assert [(order[a], order[b]) for a, b in ends] == [("server", "client"), ("client", "server")]
    # Files that are there: what cannot be read a second time is not matched with a log.
    paths = [tmp_path / name for name in "abcd"]
    for path in paths:
        path.touch()
    sources = frame("sources", source=[0, 1, 2, 3], path=list(map(str, paths)))
    logged = pl.DataFrame({"flow": [0], "forward": [True]}, schema_overrides={"flow": pl.UInt32})
    chosen = clock._nearest(capture(flows=flows, sources=sources), logged)
    assert chosen is not None
    assert order[chosen.sources["source"][0]] == "client"


def test_first_takes_the_nearest_of_those_that_show_it() -> None:
    flows = frame("flows", source=[0, 1, 2], vantage=["server", "unknown", "client"])
    seen = evidence(flows=flows, directions=frame("directions", source=[0, 1, 2]))
    rows = seen.directions.filter(pl.col("source") < 2)
    assert vantage.first(seen, rows)["source"].to_list() == [1]
