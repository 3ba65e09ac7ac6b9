"""The sender checklist as the page shows it."""

from __future__ import annotations

import dataclasses

import pytest

from l4strace.model import Analysis, Check, Checklist
from l4strace.page.build import build
from l4strace.page.case import Case
from l4strace.page.fill import encoded
from l4strace.page.sections import checklist
from tests.support import synthetic


@pytest.fixture(scope="module")
def case() -> Case:
    checks = (
        Check("Bursts of at most 250 us", "RFC 9331 section 4.3", "pass", "It lasts 240 us."),
        Check("Fast start", "RFC 9331 section A.2.3", "not shown", "<script>x</script>"),
    )
    known = dataclasses.replace(Analysis(()), checklists=(Checklist(0, True, checks),))
    return Case(synthetic.misfire(), known)


def test_each_sender_has_its_lines_with_clause_and_evidence(case: Case) -> None:
    (sender,) = checklist.build(case).senders
    assert (sender.flow, sender.tally) == (0, "1 pass, 1 unknown")
    assert sender.name == "10.0.1.2:40001 → 10.0.3.2:5201"
    assert "250\N{NO-BREAK SPACE}µs" in sender.checks[0].requirement
    html = encoded(build(case)).decode()
    assert '<td class="check passed">pass</td>' in html
    assert '<td class="check open">unknown</td>' in html
    assert "<script>x" not in html


def test_without_an_l4s_sender_the_reason_stands_there(case: Case) -> None:
    assert checklist.build(Case(case.evidence, Analysis(()))).absent == checklist.ABSENT
