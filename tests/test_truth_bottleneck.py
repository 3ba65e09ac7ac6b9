"""What the judge of the corpus takes for the right bottleneck, and for a named one."""

from __future__ import annotations

from typing import Any

import pytest

from l4strace.bottleneck.kinds import ROWS
from tests.support.truth import PRAGUE, alone, facts, found, judged, load
from tests.support.truth import lab_path as lab_path

EITHER = "classic-or-per-flow"


def test_a_bottleneck_is_right_where_it_is_the_queue() -> None:
    said = {"variant": "l4s"}
    assert judged("L4S401", facts(), **said) is True
    assert judged("L4S401", facts("classic", "all"), **said) is False


def test_a_fifo_is_no_aqm_without_ecn() -> None:
    said = {"variant": "dropping"}
    assert judged("L4S401", facts("fifo", "none"), **said) is False
    assert judged("L4S401", facts("classic", "none"), **said) is True


@pytest.mark.parametrize(("at", "answer"), [("before", True), ("after", False)])
def test_dualpi2_that_gets_no_ect1_packet_is_a_classic_aqm(at: str, answer: bool) -> None:
    """Lab run s1001-093: a router before it makes ECT(0) of ECT(1)."""
    remarked = facts(fault="remark", fault_at=at)
    assert judged("L4S401", remarked, variant="classic") is answer


@pytest.mark.parametrize("mates", [True, False])
def test_what_one_flow_leaves_open_is_right_where_either_is_true(mates: bool) -> None:
    def answer(truth: Any) -> bool | None:
        if not mates:
            truth = load("facts").Facts(truth.truth | {"flows": truth.truth["flows"][:1]})
        return judged("L4S401", truth, variant=EITHER)

    assert answer(facts("classic", "all")) is True
    assert answer(facts("per-flow", "all")) is True
    assert answer(facts("per-flow", "none")) is False
    assert answer(facts()) is False
    # Queues per flow may mark ECT(1) at a step.
    step = {"name": "fq_codel_l4s", "nature": "per-flow", "marks": "all"}
    assert answer(facts("per-flow", queue=step)) is False


def test_one_of_the_two_is_right_only_if_it_is_true_also_for_one_flow() -> None:
    said = {"variant": "classic"}
    assert judged("L4S401", alone("classic", 0.9), **said) is True
    assert judged("L4S401", alone("per-flow", 0.9), **said) is False


def test_it_names_the_bottleneck_of_a_run_of_one_flow_only() -> None:
    """Where others went along, a tester wants to know whether they share the queue."""
    wish = load("judge").Expectation
    for truth, named in ((alone("per-flow", 0.9), True), (facts("per-flow", "all"), False)):
        asked = wish(
            "bottleneck", ("L4S401",), PRAGUE, but=load("judge_bottleneck").not_named(truth)
        )
        assert asked.met([(PRAGUE, found("L4S401", variant=EITHER))]) is named
        assert asked.met([(PRAGUE, found("L4S401", variant="per-flow"))]) is True


def test_a_fallback_behind_either_is_justified() -> None:
    said = "classic-or-per-flow"
    assert judged("L4S309", facts("per-flow", "all"), variant=said) is True
    assert judged("L4S309", facts(), variant=said) is False


def test_the_table_is_judged_without_each_row_and_each_sign() -> None:
    left = dict(load("ablate").without())
    rows = [table for name, table in left.items() if name.startswith("row ")]
    assert {len(table) for table in rows} == {len(ROWS) - 1}
    for sign in {sign for row in ROWS for sign in (*row.needs, *row.unless)}:
        table = left[f"sign {sign.name}"]
        assert len(table) == len(ROWS)
        assert not [row for row in table if sign in (*row.needs, *row.unless)]
        assert not [row for row in table if f"{{{sign.key}}}" in row.says]
