"""The order of the stages, and what happens when a rule breaks."""

import gc
import re
import weakref

import pytest

from l4strace import pipeline, rules
from l4strace.derive import neighbors, vantage
from l4strace.derive.senders import pressed
from l4strace.evidence import DERIVED, traffic
from l4strace.model import Confidence, Finding, Rule, Severity, Skipped
from l4strace.schema import STREAMED, TABLES
from l4strace.schema import evidence as schema_of_evidence
from l4strace.schema.table import Table
from tests.support.datagrams import over_udp
from tests.support.frames import capture, evidence, frame
from tests.support.places import FIXTURES, REPOSITORY

DERIVE = REPOSITORY / "l4strace/derive"


def rule(code: str, *said: Finding | Skipped) -> Rule:
    return Rule(code, code.lower(), "", lambda _: list(said))


def broken(_: object) -> list[Finding | Skipped]:
    raise ValueError("no such column\nin the plan")


def test_derive_gives_every_declared_table():
    derived = pipeline.derive(capture())
    for name in TABLES.keys() - set(STREAMED):
        assert getattr(derived, name).schema == TABLES[name].schema


CALLERS = {
    "commands/inputs.py",  # diagnose, export, figures
    "comparison/overlay.py",
    "run.py",
    "studies/measuring/one_run.py",
    "watch/findings.py",
}
"""Where captures are judged, each by `pipeline.diagnose`."""


def test_one_function_composes_the_stages():
    """No caller has an order of its own: what separates runs does so everywhere."""
    package = REPOSITORY / "l4strace"
    texts = {
        path.relative_to(package).as_posix(): path.read_text()
        for path in package.rglob("*.py")
        if not {"target", "share"}.intersection(path.parts)
    }
    assert {name for name, text in texts.items() if "pipeline.diagnose(" in text} == CALLERS
    stages = re.compile(r"pipeline\.(derive|judge)\(|pipeline import .*\b(derive|judge)\b")
    assert {name for name, text in texts.items() if stages.search(text)} == set()


def test_judge_sorts_worst_first(monkeypatch: pytest.MonkeyPatch):
    mild = Finding(Severity.INFO, Confidence.HIGH, "mild", rule="L4S001")
    sure = Finding(Severity.ERROR, Confidence.HIGH, "sure", rule="L4S402")
    unsure = Finding(Severity.ERROR, Confidence.LOW, "unsure", rule="L4S401")
    monkeypatch.setattr(rules, "RULES", (rule("L4S001", mild), rule("L4S401", unsure, sure)))
    assert [f.message for f in pipeline.judge(evidence()).findings] == ["sure", "unsure", "mild"]


def test_a_rule_on_udp_alone_is_asked_where_there_is_some(monkeypatch: pytest.MonkeyPatch):
    said = Finding(Severity.INFO, Confidence.HIGH, "heard", rule="L4S215")
    monkeypatch.setattr(rules, "RULES", (rule("L4S215", said)._replace(over_udp=True),))
    assert pipeline.judge(evidence()).findings == ()
    assert len(pipeline.judge(evidence(**over_udp([8.0] * 20))).findings) == 1


def test_what_two_captures_show_is_said_once(monkeypatch: pytest.MonkeyPatch):
    twice = [
        Finding(Severity.INFO, Confidence.HIGH, "same", rule="L4S110", source=source, flow=1)
        for source in (0, 1)
    ]
    monkeypatch.setattr(rules, "RULES", (rule("L4S110", *twice),))
    assert [f.source for f in pipeline.judge(evidence()).findings] == [0]


def test_a_broken_rule_is_skipped_with_the_reason_and_the_others_are_heard(
    monkeypatch: pytest.MonkeyPatch,
):
    bad = Rule("L4S001", "bad", "", broken)
    good = rule("L4S002", Finding(Severity.INFO, Confidence.HIGH, "heard", rule="L4S002"))
    monkeypatch.setattr(rules, "RULES", (bad, good))
    analysis = pipeline.judge(evidence())
    assert [f.message for f in analysis.findings] == ["heard"]
    assert analysis.skipped[0].reason == (
        "the rule itself failed (ValueError: no such column): please report this"
    )
    with pytest.raises(ValueError, match="no such column"):
        pipeline.judge(evidence(), strict=True)


def test_judge_asks_only_the_selected_rules():
    analysis = pipeline.judge(evidence(flows=frame("flows")), ["L4S1"], ["L4S107"])
    assert {r.code[:4] for r in analysis.rules} == {"L4S1"}
    assert "L4S107" not in {r.code for r in analysis.rules}


def test_the_fields_of_evidence_are_the_list_of_derived_tables():
    declared = [
        name for name, table in vars(schema_of_evidence).items() if isinstance(table, Table)
    ]
    assert list(DERIVED) == [name.lower() for name in declared]
    made = {path.stem for path in DERIVE.rglob("*.py") if "\ndef table(capture" in path.read_text()}
    made |= {"bottlenecks", "signs"}
    assert set(DERIVED) - {pipeline.FALLBACK} == made == set(pipeline.MAKERS)


def test_a_table_that_breaks_is_reported_and_the_rules_still_run(monkeypatch: pytest.MonkeyPatch):
    def fail(_: object) -> None:
        raise TypeError("no such number")

    monkeypatch.setitem(pipeline.MAKERS, "bottlenecks", fail)
    derived = pipeline.derive(capture())
    assert derived.bottlenecks.is_empty()
    analysis = pipeline.judge(derived)
    assert analysis.skipped[0].reason == (
        "the table bottlenecks failed (TypeError: no such number): please report this"
    )
    assert len(analysis.rules) == len(rules.RULES)
    with pytest.raises(TypeError):
        pipeline.derive(capture(), strict=True)


def test_what_follows_from_flows_and_directions_is_not_found_again() -> None:
    """Rules and page ask for it as derived tables do."""
    derived = pipeline.derive(capture(flows=frame("flows"), directions=frame("directions")))
    handed_on = list(vars(derived).values())
    for found in (neighbors.directions(derived), vantage.nearest(derived)):
        assert any(value is found for value in handed_on)


def test_rules_and_page_do_not_hand_over_the_rounds_again() -> None:
    """Those of a flow over UDP whose feedback is read are the only ones that rules ask about."""
    run = pipeline.read([str(FIXTURES / "user-space/up1-a.pcap.xz")], companions=False)
    derived = pipeline.derive(run, strict=True)
    assert not pressed.senders(derived).is_empty()
    pipeline.judge(derived, strict=True)
    assert not [place for place in vars(derived) if place.endswith(".measured")]


def test_tables_that_break_are_named_in_one_order(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: object) -> None:
        raise TypeError("no such number")

    for name in ("hosts", "bottlenecks", "cuts"):
        monkeypatch.setitem(pipeline.MAKERS, name, fail)
    broken = pipeline.derive(capture()).broken
    assert [reason.split()[2] for reason in broken] == ["cuts", "bottlenecks", "hosts"]


def test_what_a_capture_keeps_ends_with_it() -> None:
    given = capture()
    assert traffic(given) is given
    neighbors.directions(given)
    gone = weakref.ref(given)
    gc.disable()
    try:
        del given
        assert gone() is None
    finally:
        gc.enable()
