"""Handshake ladders: as sent, as arrived, and what lies between."""

from __future__ import annotations

import dataclasses

import polars as pl
import pytest

from l4strace.model import Analysis
from l4strace.page.case import Case
from l4strace.page.sections import handshakes
from tests.support import synthetic
from tests.support.frames import frame

CHANGED = "codepoint changed on the path"


@pytest.fixture(scope="module")
def case() -> Case:
    return Case(synthetic.misfire(), synthetic.misfire_analysis())


def test_a_handshake_shows_what_the_path_did_to_it(case: Case) -> None:
    client = {
        "source": 0, "vantage": "client", "syn_ace": 7, "syn_ecn": 1, "synack_ace": 2,
        "synack_ecn": 3, "syn_arrived_ecn": 0, "synack_arrived_ecn": 3, "final_ack_ace": 6,
    }  # fmt: skip
    server = client | {"source": 1, "vantage": "server", "syn_ecn": 0, "synack_ecn": 1}

    def ladder(*rows: dict[str, object]) -> list[tuple[str, ...]]:
        flows = pl.concat([frame("flows", **row) for row in rows])
        run = dataclasses.replace(case.evidence, flows=flows)
        (found,) = handshakes.build(Case(run, Analysis(()))).ladders
        return [(rung.sent, rung.arrived, rung.path, rung.kind) for rung in found.rungs]

    assert ladder(client) == [
        ("ECT(1), ACE 111", "Not-ECT (reflected by the SYN/ACK)", CHANGED, "changed"),
        (handshakes.UNSEEN, "CE, ACE 010", "", ""),
        ("ACE 110", handshakes.UNKNOWN, "", ""),
    ]
    assert ladder(client, server) == [
        ("ECT(1), ACE 111", "Not-ECT, ACE 111", CHANGED, "changed"),
        ("ECT(1), ACE 010", "CE, ACE 010", "marked CE on the path", "marked"),
        ("ACE 110", "ACE 110", "unchanged", "kept"),
    ]
    assert ladder(client, server | {"syn_ace": 3})[0][2:] == ("ACE changed on the path", "changed")
    between = ladder(client | {"vantage": "unknown"})
    assert between[0][0] == "ECT(1), ACE 111 (seen in between)"
    assert between[1][1] == "CE (reflected by the final ACK)"


def test_a_handshake_that_shows_no_path_has_no_column_for_it(case: Case) -> None:
    for row, shown in (({"syn_ace": 7}, False), ({"syn_ace": 7, "syn_arrived_ecn": 0}, True)):
        seen = frame("flows", vantage="client", syn_ecn=1, **row)
        run = dataclasses.replace(case.evidence, flows=seen)
        (found,) = handshakes.build(Case(run, Analysis(()))).ladders
        assert found.paths is shown


def test_many_handshakes_are_counted_and_not_shown(case: Case) -> None:
    many = frame("flows", flow=list(range(500)), syn_ace=7)
    run = dataclasses.replace(case.evidence, flows=many)
    section = handshakes.build(Case(run, Analysis(())))
    assert len(section.ladders) == handshakes.MAX_FLOWS
    assert section.left_out.startswith("488 more handshakes")
    nothing = dataclasses.replace(case.evidence, flows=many.clear())
    assert handshakes.build(Case(nothing, Analysis(()))).absent == "No TCP handshake was captured."
