"""Flows of one path do not contradict each other."""

from math import nan

from l4strace.bottleneck.agreement import Judged, agreed, within
from l4strace.bottleneck.evidence import Direction
from l4strace.bottleneck.verdict import Verdict
from l4strace.schema.words import CLASSIC_OR_PER_FLOW


def row(
    kind: str,
    confidence: float,
    *,
    flow: int = 0,
    path: str = "a>b",
    marks: int = 20,
    all_marks: int | None = None,
    marked_as: str = "ect0",
    delay_us: float = 900.0,
) -> Judged:
    every = marks if all_marks is None else all_marks
    direction = Direction(marked_as=marked_as, marks=marks, all_marks=every)
    verdict = Verdict(kind, confidence, "own", marking_delay_us=delay_us)
    return Judged((0, flow, True), (0, path), direction, verdict)


def kinds(*rows: Judged) -> list[tuple[str, float]]:
    return [(one.kind, one.sure) for one in agreed(numbered(*rows))]


def numbered(*rows: Judged) -> list[Judged]:
    return [
        Judged((0, flow, True), one.at, one.direction, one.verdict) for flow, one in enumerate(rows)
    ]


def test_the_surest_flow_of_a_path_decides() -> None:
    own = row("l4s", 0.95, marked_as="ect1"), row("unknown", 0.0), row("shallow", 0.7)
    found = agreed(numbered(*own))
    assert [one.kind for one in found] == ["l4s"] * 3
    assert found[1].sure == 0.6
    assert "900 us" in found[1].verdict.reason


def test_flows_as_sure_as_each_other_leave_the_kind_open() -> None:
    assert kinds(row("l4s", 0.7), row("per-flow", 0.7))[1] == ("unknown", 0.0)


def test_a_queue_per_flow_may_have_a_step_for_ect1() -> None:
    """Simulated run s9902-147: fq_codel with ce_threshold_selector 0x01/0x03."""
    either = row(CLASSIC_OR_PER_FLOW, 0.7)
    own = row("l4s", 0.6, marked_as="ect1")
    assert kinds(own, either) == [("l4s", 0.6), (CLASSIC_OR_PER_FLOW, 0.7)]
    late = row(CLASSIC_OR_PER_FLOW, 0.7, marked_as="ect1")
    assert kinds(own, late)[0] == (CLASSIC_OR_PER_FLOW, 0.6)


def test_of_sure_flows_that_contradict_each_other_most_decide() -> None:
    """Run s9601-047: five flows of fq_codel were served in turn, one was marked far later."""
    sure = row("per-flow", 0.9)
    assert kinds(sure, row("l4s", 0.95), sure)[1] == ("per-flow", 0.6)
    assert kinds(sure, row("l4s", 0.95)) == [("unknown", 0.0)] * 2
    assert kinds(sure, row("l4s", 0.95), row("none", 0.8))[2] == ("none", 0.8)


def test_other_paths_and_what_the_queue_is_to_packets_without_ecn_stay() -> None:
    other = row("classic", 0.5, path="a>c")
    plain = row("unmarked", 0.6, marked_as="not_ect")
    assert kinds(row("l4s", 0.9), other, plain, row("none", 0.6))[1:] == [
        ("classic", 0.5),
        ("unmarked", 0.6),
        ("none", 0.6),
    ]


def test_a_flow_without_marks_decides_for_none() -> None:
    """Lab run s1401-067: CoDel dropped two packets of the one flow, and marked the other one."""
    assert kinds(row("fifo", 0.9, marks=0), row("classic", 0.6)) == [("classic", 0.6)] * 2


def test_what_one_flow_leaves_open_another_one_decides() -> None:
    either = row(CLASSIC_OR_PER_FLOW, 0.7)
    assert kinds(either, row("per-flow", 0.6)) == [("per-flow", 0.6)] * 2
    assert kinds(either, row("classic", 0.9))[0] == ("classic", 0.6)


def test_one_of_two_kinds_is_no_contradiction() -> None:
    either, unsure = row(CLASSIC_OR_PER_FLOW, 0.7), row("classic", 0.5, marks=0)
    assert kinds(either, unsure)[1] == ("classic", 0.5)
    assert kinds(either, row("unknown", 0.0))[1] == (CLASSIC_OR_PER_FLOW, 0.6)


def test_weak_evidence_is_more_than_none() -> None:
    """Lab run s1101-072: PIE marked two packets of each of two flows."""
    found = agreed(numbered(row("classic", 0.5), row("unknown", 0.0), row("l4s", 0.5)))
    assert [one.kind for one in found] == ["classic", "classic", "l4s"]
    assert found[1].sure == 0.5
    assert "suggests" in found[1].verdict.reason


def test_a_queue_that_marks_some_flows_is_not_without_ecn_to_others() -> None:
    """Lab run s1501-060: RED marked two flows, and let 24 ms of queue of a third one pass."""
    other = row("unmarked", 0.5, marks=0)
    assert kinds(other, row("unknown", 0.0, marks=2)) == [("unknown", 0.0)] * 2
    assert kinds(other, row("unknown", 0.0, marks=0))[0] == ("unmarked", 0.5)
    start = row("unknown", 0.0, marks=0, all_marks=3)
    assert kinds(row("unmarked", 0.5, marks=0, marked_as="not_ect"), start)[0] == ("unmarked", 0.5)


def test_marks_of_the_start_decide_for_flows_with_fewer() -> None:
    """Lab run s2001-157: three marks at a step while the flow started, and two of the other."""
    began = row("l4s", 0.6, marks=0, all_marks=3, delay_us=nan)
    assert kinds(began, row("unknown", 0.0, marks=0, all_marks=2)) == [("l4s", 0.6)] * 2


def test_a_phase_shows_what_the_whole_leaves_open() -> None:
    """Run s8104-126: a step that all share, and then a dual queue, looked like a queue per flow."""
    shallow, later = row("shallow", 0.9, delay_us=1_100.0), row("l4s", 0.9)
    for whole in (row("unknown", 0.0), row("per-flow", 0.6)):
        found = within(whole, [shallow, later])
        assert (found.kind, found.sure) == ("shallow", 0.6)
        assert found.verdict.marking_delay_us == 1_100.0
        assert found.verdict.reason == "own This is so in one phase of the path."
    for of_phases in ([], [row("unknown", 0.0)], [row("none", 0.8, marks=0)]):
        assert within(row("unknown", 0.0), of_phases).kind == "unknown"


def test_a_phase_refutes_no_sure_evidence() -> None:
    assert within(row("per-flow", 0.7), [row("shallow", 0.9)]).kind == "per-flow"


def test_a_phase_shows_which_of_two_kinds_it_is() -> None:
    either = row(CLASSIC_OR_PER_FLOW, 0.7)
    assert within(either, [either, row("per-flow", 0.7)]).kind == "per-flow"
    # Run s8103-217: all packets beyond the border marked, for a moment.
    assert within(either, [row("l4s", 0.7)]).kind == CLASSIC_OR_PER_FLOW
    assert within(row("unknown", 0.0), [either, row("classic", 0.7)]).kind == "classic"
    assert within(row("unknown", 0.0), [either]).kind == CLASSIC_OR_PER_FLOW
