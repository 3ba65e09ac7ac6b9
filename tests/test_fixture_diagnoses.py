"""The runs that the repository holds get exactly the diagnosis of the fault made in them."""

from pathlib import Path

import pytest

from l4strace import pipeline
from l4strace.model import Analysis, Severity
from l4strace.wording.verdict import verdict

FAULTS = {
    "accecn-clean": set(),
    "accecn-acks-lost": set(),
    "accecn-unmarked": {"L4S402"},
    "accecn-ect0": {"L4S103"},
    "accecn-bleached": {"L4S104"},
    "accecn-remarked": {"L4S105"},
    "accecn-all-ce": {"L4S403"},
    "accecn-option-zeroed": {"L4S110"},
    "accecn-ace-zeroed": {"L4S108", "L4S111"},
    "accecn-deaf": {"L4S202"},
}
"""Warnings and errors from the sender's side alone, and the same from both sides."""


def diagnosed(*paths: Path) -> Analysis:
    return pipeline.judge(
        pipeline.derive(pipeline.read([str(path) for path in paths])), strict=True
    )


def serious(analysis: Analysis) -> set[str]:
    return {found.rule for found in analysis.findings if found.severity >= Severity.WARNING}


@pytest.mark.parametrize("run", FAULTS)
def test_the_fault_is_found_and_nothing_else(fixtures: Path, run: str) -> None:
    sender, receiver = (fixtures / run / f"{end}.pcap.xz" for end in ("sender", "receiver"))
    assert serious(diagnosed(sender)) == FAULTS[run]
    assert serious(diagnosed(sender, receiver)) >= FAULTS[run]


def test_the_sample_opens_with_the_misfire(fixtures: Path) -> None:
    analysis = diagnosed(fixtures / "misfire" / "misfire.pcap.xz")
    assert verdict(analysis, 2).sentence == (
        "Fallback misfired on an L4S AQM: classic since 0.5 s while depth was 0.4 ms of 2 ms and "
        "deviation 0.12 ms of 0.75 ms; the steps carry the residues of the buggy 24-bit build."
    )
    assert serious(analysis) == {"L4S301", "L4S302", "L4S501"}


def test_the_healthy_run_has_no_finding_above_information(fixtures: Path) -> None:
    analysis = diagnosed(fixtures / "healthy" / "healthy.pcap.xz")
    assert {found.severity for found in analysis.findings} <= {Severity.INFO}
