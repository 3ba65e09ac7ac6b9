"""Orders of findings and how many of them are readable."""

from l4strace.model import Confidence, Finding, Severity
from l4strace.wording.order import readable, worst_first


def finding(rule: str, severity: Severity, flow: int | None = None) -> Finding:
    return Finding(severity, Confidence.HIGH, "", rule=rule, flow=flow)


def test_worst_first_then_the_flow_that_carried_most():
    found = [
        finding("L4S104", Severity.WARNING, 1),
        finding("L4S104", Severity.WARNING, 2),
        finding("L4S401", Severity.ERROR),
    ]
    found.sort(key=lambda one: worst_first(one, {1: 10, 2: 99}))
    assert [(one.rule, one.flow) for one in found] == [
        ("L4S401", None), ("L4S104", 2), ("L4S104", 1)
    ]  # fmt: skip


def test_a_rule_that_fires_everywhere_leaves_room_for_others():
    found = [finding("L4S104", Severity.ERROR, flow) for flow in range(50)]
    found += [finding("L4S501", Severity.WARNING, flow) for flow in range(50)]
    shown = readable(found, 3, 5)
    assert [found[place].rule for place in shown] == ["L4S104"] * 3 + ["L4S501"] * 2
