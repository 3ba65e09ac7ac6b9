"""What the judge of the corpus takes for the right bottleneck, and for a named one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.truth import PRAGUE, alone, facts, found, judged, load
from tests.support.truth import lab_path as lab_path

EITHER = "Bottleneck: classic AQM or queue per flow. Marks begin at 6 ms of queue delay"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Bottleneck: L4S AQM. Marks set in at 0.4 ms.", "l4s"),
        ("Bottleneck: classic AQM. Marks set in at 6 ms; not an L4S AQM.", "classic"),
        ("Bottleneck: shallow AQM that also marks ECT(0). x", "shallow"),
        ("Bottleneck cannot be told: 6 ms of jitter. x", None),
        ("Bottleneck: FIFO. x", "fifo"),
        ("Bottleneck: queue per flow. x", "per-flow"),
        ("Bottleneck: classic AQM or queue per flow. x", "classic-or-per-flow"),
    ],
)
def test_the_kind_is_read_from_the_message(message: str, kind: str | None) -> None:
    assert load("judge_bottleneck").kind_of(message) == kind


def test_a_bottleneck_is_right_where_it_is_the_queue() -> None:
    said = {"message": "Bottleneck: L4S AQM. x"}
    assert judged("L4S401", facts(), **said) is True
    assert judged("L4S401", facts("classic", "all"), **said) is False
    assert judged("L4S401", facts(), message="Bottleneck cannot be told: jitter") is None


def test_a_fifo_is_no_aqm_without_ecn() -> None:
    said = {"message": "Bottleneck: AQM without ECN. x"}
    assert judged("L4S401", facts("fifo", "none"), **said) is False
    assert judged("L4S401", facts("classic", "none"), **said) is True


@pytest.mark.parametrize(("at", "answer"), [("before", True), ("after", False)])
def test_dualpi2_that_gets_no_ect1_packet_is_a_classic_aqm(at: str, answer: bool) -> None:
    """Lab run s1001-093: a router before it makes ECT(0) of ECT(1)."""
    remarked = facts(fault="remark", fault_at=at)
    assert judged("L4S401", remarked, message="Bottleneck: classic AQM. Marks begin") is answer


@pytest.mark.parametrize("mates", [True, False])
def test_what_one_flow_leaves_open_is_right_where_either_is_true(mates: bool) -> None:
    def answer(truth: Any) -> bool | None:
        if not mates:
            truth = load("facts").Facts(truth.truth | {"flows": truth.truth["flows"][:1]})
        return judged("L4S401", truth, message=EITHER)

    assert answer(facts("classic", "all")) is True
    assert answer(facts("per-flow", "all")) is True
    assert answer(facts("per-flow", "none")) is False
    assert answer(facts()) is False
    # Queues per flow may mark ECT(1) at a step.
    step = {"name": "fq_codel_l4s", "nature": "per-flow", "marks": "all"}
    assert answer(facts("per-flow", queue=step)) is False


def test_one_of_the_two_is_right_only_if_it_is_true_also_for_one_flow() -> None:
    said = {"message": "Bottleneck: classic AQM. x"}
    assert judged("L4S401", alone("classic", 0.9), **said) is True
    assert judged("L4S401", alone("per-flow", 0.9), **said) is False


def test_it_names_the_bottleneck_of_a_run_of_one_flow_only() -> None:
    """Where others went along, a tester wants to know whether they share the queue."""
    wish = load("judge").Expectation
    for truth, named in ((alone("per-flow", 0.9), True), (facts("per-flow", "all"), False)):
        asked = wish("bottleneck", ("L4S401",), PRAGUE, load("judge_bottleneck").named(truth))
        assert asked.met([(PRAGUE, found("L4S401", EITHER))]) is named
        assert asked.met([(PRAGUE, found("L4S401", "Bottleneck: queue per flow. x"))]) is True


def test_a_fallback_behind_either_is_justified() -> None:
    said = "classic-or-per-flow"
    assert judged("L4S309", facts("per-flow", "all"), variant=said) is True
    assert judged("L4S309", facts(), variant=said) is False
