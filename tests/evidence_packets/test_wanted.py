"""Which packets are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from l4strace.evidence import Evidence
from l4strace.evidence_packets import wanted
from l4strace.model import Analysis, Confidence, Finding, Severity
from tests.support.frames import evidence, frame


def finding(rule: str = "L4S301", **more: object) -> Finding:
    return Finding(Severity.ERROR, Confidence.HIGH, "message", rule=rule, **more)  # type: ignore[arg-type]


@pytest.fixture
def two_ends(tmp_path: Path) -> Evidence:
    (tmp_path / "b.pcap").touch()
    paths = ["-", str(tmp_path / "b.pcap")]
    return evidence(
        sources=frame("sources", source=[0, 1], path=paths),
        flows=frame("flows", source=[0, 1], vantage=["server", "client"]),
        directions=frame("directions", source=[0, 1]),
    )


def test_a_finding_without_source_is_looked_up_nearest_to_its_sender(two_ends: Evidence) -> None:
    found = finding(flow=0, forward=True, frames=(3, 7), span_ns=(5, 9))
    (lookup,), _ = wanted.of_findings(two_ends, Analysis((found,)))
    assert (lookup.place, lookup.source, lookup.flow, lookup.span_ns) == (0, 1, 0, (5, 9))
    assert lookup.frames == {3, 7}


def test_a_pipe_is_left_out_with_the_reason(two_ends: Evidence) -> None:
    lookups, absent = wanted.of_findings(two_ends, Analysis((finding(source=0, frames=(1,)),)))
    assert (lookups, absent) == ((), wanted.NOT_AGAIN)


def test_what_names_neither_flow_nor_frame_has_no_packets(two_ends: Evidence) -> None:
    assert wanted.of_findings(two_ends, Analysis((finding(source=1),)))[0] == ()


def test_many_findings_of_a_rule_are_bounded(two_ends: Evidence) -> None:
    many = tuple(finding(f"L4S{n // 50 + 101}", source=1, frames=(n + 1,)) for n in range(600))
    lookups, _ = wanted.of_findings(two_ends, Analysis(many))
    assert len(lookups) == wanted.MOST_FINDINGS
    assert [lookup.place for lookup in lookups[:4]] == [0, 1, 2, 50]
    assert not any(lookup.losses for lookup in lookups)
