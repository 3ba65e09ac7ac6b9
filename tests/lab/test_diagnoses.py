"""Every recorded run with known truth gets exactly its diagnosis, with its kernel log and without.

The runs and what is right for each are described in the shared data's README and manifests.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.model import Analysis, Confidence, Finding, Severity
from l4strace.wording.verdict import verdict

WITH_LOG = {
    "a": set(),
    "b": {"L4S301", "L4S302", "L4S501"},
    "d": set(),
    "e": {"L4S305", "L4S501"},
    "f2": {"L4S304", "L4S501"},
    "h": {"L4S307", "L4S402"},
    "i": {"L4S101", "L4S204"},
    "k": {"L4S104", "L4S307"},
    "o": {"L4S204", "L4S205"},
    "q1": {"L4S303"},
    "s": set(),
}
"""Codes of everything above information."""

WITHOUT_LOG = {
    "a": set(),
    "b": {"L4S308", "L4S501"},
    "d": set(),
    "e": {"L4S308", "L4S501"},
    "f2": {"L4S308", "L4S501"},
    "h": {"L4S402"},
    "i": {"L4S101", "L4S204"},
    "k": {"L4S104"},
    "o": {"L4S204", "L4S205"},
    "q1": {"L4S308"},
    "s": set(),
}

INFORMATION = {"d": {"L4S309"}, "s": {"L4S306"}}
"""Verdicts of the fallback rules that are good news, with a log."""

SERIOUS = {"b", "e", "f2", "h", "i", "k", "o"}
"""Runs whose manifest justifies a finding of WARNING or above; the others get none."""

HEADLINES = {
    "a": "L4S401",
    "b": "L4S301",
    "d": "L4S309",
    "e": "L4S305",
    "f2": "L4S304",
    "h": "L4S402",
    "i": "L4S101",
    "k": "L4S104",
    "o": "L4S204",
    "q1": "L4S303",
    "s": "L4S306",
}
"""The rule whose finding opens the report, with a log."""

SKIPPED_WITHOUT_LOG = {f"L4S30{n}" for n in (1, 2, 3, 4, 5, 6, 7, 9)}

KINDS = {
    "a": {40001: "l4s", 40002: "l4s"},
    "b": {40001: "l4s", 40002: "l4s"},
    "d": {40001: "classic", 40002: "classic"},
    "e": {40001: "classic", 40002: "classic"},
    "f2": {40001: "shallow", 40002: "shallow"},
    "h": {40001: "fifo", 40002: "fifo"},
    # AccECN refused: both flows share the classic queue, which is all that packets can show.
    "i": {40001: "classic", 40002: "classic"},
    # The path erases ECN before DualPI2: both flows wait in a queue that can mark nothing.
    "k": {40001: "unmarked", 40002: "unmarked"},
    # A lone flow cannot show that fq_codel has a queue for each.
    "o": {40001: "classic-or-per-flow"},
    "q1": {40001: "l4s"},
    "s": {40001: "l4s"},
}


@cache
def diagnosed(folder: Path, log: bool) -> tuple[Evidence, Analysis]:
    """Evidence and analysis of a run's sender side."""
    names = ["sender.pcap.xz", *(["trace.txt.zst"] if log else [])]
    evidence = pipeline.derive(pipeline.read([str(folder / name) for name in names]), strict=True)
    return evidence, pipeline.judge(evidence, strict=True)


def above(analysis: Analysis, severity: Severity) -> set[str]:
    return {found.rule for found in analysis.findings if found.severity >= severity}


@pytest.mark.parametrize("run", WITH_LOG)
def test_with_its_kernel_log(shared_data: Path, run: str) -> None:
    _, analysis = diagnosed(shared_data / "lab" / run, True)
    assert above(analysis, Severity.NOTICE) == WITH_LOG[run]
    assert bool(above(analysis, Severity.WARNING)) is (run in SERIOUS)
    good_news = {f.rule for f in analysis.findings if f.rule.startswith("L4S3")} - WITH_LOG[run]
    assert good_news == INFORMATION.get(run, set())
    opening = verdict(analysis, 2).finding
    assert opening is not None
    assert opening.rule == HEADLINES[run]


@pytest.mark.parametrize("run", WITHOUT_LOG)
def test_without_it(shared_data: Path, run: str) -> None:
    _, analysis = diagnosed(shared_data / "lab" / run, False)
    assert above(analysis, Severity.NOTICE) == WITHOUT_LOG[run]
    assert bool(above(analysis, Severity.WARNING)) is (run in SERIOUS)
    assert {skipped.rule for skipped in analysis.skipped} >= SKIPPED_WITHOUT_LOG


@pytest.mark.parametrize("run", KINDS)
def test_bottleneck_from_packets(shared_data: Path, run: str) -> None:
    evidence, _ = diagnosed(shared_data / "lab" / run, False)
    assert kinds(evidence) == KINDS[run]


@pytest.mark.parametrize("run", ["b", "d", "f2"])
def test_the_kernel_log_does_not_feed_the_bottleneck(shared_data: Path, run: str) -> None:
    with_log, _ = diagnosed(shared_data / "lab" / run, True)
    without, _ = diagnosed(shared_data / "lab" / run, False)
    assert with_log.bottlenecks.equals(without.bottlenecks)


@pytest.mark.parametrize("run", ["b", "e", "o"])
def test_both_captures_at_once_change_no_verdict(shared_data: Path, run: str) -> None:
    folder = shared_data / "lab" / run
    names = ("sender.pcap.xz", "receiver.pcap.xz")
    capture = pipeline.read([str(folder / name) for name in names])
    analysis = pipeline.judge(pipeline.derive(capture, strict=True), strict=True)
    assert above(analysis, Severity.WARNING) == above(diagnosed(folder, False)[1], Severity.WARNING)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("s1-oneflow-ns-prague-dualpi2-50Mbit-20ms", {"l4s"}),
        ("s1-oneflow-ns-prague-dualpi2-5Mbit-160ms", {"l4s"}),
        # CoDel with a target of 1 ms on one queue: the known false negative of the detector.
        ("s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-20ms", {"shallow"}),
        ("s2-twoflow-ns-cubic-vs-prague-dualpi2-20ms", {"l4s"}),
        ("s2-twoflow-ns-cubic-vs-prague-pfifo_1000_-20ms", {"fifo"}),
        ("s4-capacity-reduction-ns-prague-50Mbit-5mbit-20ms", {"l4s"}),
    ],
)
def test_captures_of_2020_by_their_names(shared_data: Path, name: str, expected: set[str]) -> None:
    evidence, analysis = of_2020(shared_data, name)
    assert set(kinds(evidence).values()) == expected
    if expected == {"l4s"}:
        assert above(analysis, Severity.WARNING) == set()


def test_the_missed_classic_aqm_of_2020_is_told_by_its_cuts(shared_data: Path) -> None:
    _, analysis = of_2020(shared_data, "s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-20ms")
    found = one(analysis, "L4S308")
    assert found.severity is Severity.WARNING
    assert one(analysis, "L4S501").severity is Severity.WARNING


def test_the_capacity_reduction_of_2020_is_a_spike_by_rate_drop(shared_data: Path) -> None:
    evidence, _ = of_2020(shared_data, "s4-capacity-reduction-ns-prague-50Mbit-5mbit-20ms")
    row = evidence.spikes.row(0, named=True)
    assert (evidence.spikes.height, row["cause"]) == (1, "rate-drop")
    # Both captures show 167 ms one way; 30 packets were lost, and SACK shows those behind them.
    assert row["height_us"] == pytest.approx(167_000, rel=0.02)
    assert row["lost"] == 30


def test_the_capacity_reduction_of_2020_has_three_phases(shared_data: Path) -> None:
    """50, 5 and again 50 Mbit/s on the wire, changed after 15 and 35 s of the flow (setup.log)."""
    evidence, analysis = of_2020(shared_data, "s4-capacity-reduction-ns-prague-50Mbit-5mbit-20ms")
    table = evidence.phases
    on_the_wire = [bps * 1514 / 1448 for bps in table["capacity_bps"]]
    assert on_the_wire == pytest.approx([50e6, 5e6, 50e6], rel=0.015)
    assert table["changed"].to_list() == [None, "capacity", "capacity"]
    first = evidence.sources["first_ns"][0]
    starts = [(ns - first) / 1e9 for ns in table["start_ns"][1:]]
    assert starts == pytest.approx([19.8, 39.8], abs=0.1)
    assert one(analysis, "L4S408").confidence is Confidence.HIGH


def test_every_lab_run_is_one_phase_of_its_configured_rate(shared_data: Path) -> None:
    for run, rate in {"a": 50, "b": 50, "e": 50, "h": 50, "q1": 4, "s": 50}.items():
        evidence, _ = diagnosed(shared_data / "lab" / run, False)
        (bps,) = evidence.phases["capacity_bps"]
        size = evidence.directions["max_payload"].max()
        assert bps * 1514 / size == pytest.approx(rate * 1e6, rel=0.02), run


def of_2020(shared_data: Path, name: str) -> tuple[Evidence, Analysis]:
    path = shared_data / "prague-2020" / f"batch-l4s-{name}.tcpdump_cli_cli.pcap.xz"
    return both(path)


@cache
def both(path: Path) -> tuple[Evidence, Analysis]:
    evidence = pipeline.derive(pipeline.read([str(path)]))
    return evidence, pipeline.judge(evidence, strict=True)


def one(analysis: Analysis, code: str) -> Finding:
    (found,) = (finding for finding in analysis.findings if finding.rule == code)
    return found


def kinds(evidence: Evidence) -> dict[int, str]:
    flows = evidence.flows.select("source", "flow", "client_port")
    told = evidence.bottlenecks.join(flows, on=["source", "flow"])
    return {row["client_port"]: row["kind"] for row in told.iter_rows(named=True)}


CHECKLISTS = {
    "a": ("PPP......P...", "PPP......P..."),
    "b": ("PP.......P...", "PP.......P..."),
    "d": ("PP..P....P...", "PP..P....P..."),
    "e": ("PPP.F....P...", "PPP.F....P..."),
    "f2": ("PPP.F....P...", "PPP.F....P..."),
    "h": ("PP.P.....P...", "PP.P.....P..."),
    "k": ("PP.P.....P...", "PP.P.....P..."),
    "o": ("PPPP.....P...", "PPP......P..."),
    "q1": ("PP.......P...", "PP.......P..."),
    "s": ("PPP.....PP...", "PPP.....PP..."),
}
"""Verdicts in the order of `rules.checklist.REQUIREMENTS`, with the log and without.

Every build sends ECT(1) with AccECN, ECT on control packets, and halves at loss (h, k and o have
any; packets alone show too few in o). Marks cost alpha/2 except in b and d, whose fallback acts,
and in q1, where it does at times. d falls back, e has that switched off, f2 missed it. i was
refused AccECN: no L4S sender. No sender asks for NQB.
"""


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("run", sorted(WITH_LOG))
def test_every_line_of_the_checklist_is_right(shared_data: Path, run: str, log: bool) -> None:
    _, analysis = diagnosed(shared_data / "lab" / run, log)
    letters = {"pass": "P", "fail": "F", "not shown": "."}
    lines = ["".join(letters[check.verdict] for check in one.checks) for one in analysis.checklists]
    assert lines == ([CHECKLISTS[run][0 if log else 1]] if run in CHECKLISTS else [])


RECORDED = {
    "prague-2020/batch-l4s-s1-oneflow-ns-prague-dualpi2-50Mbit-20ms": "PPP.....PP...",
    # 160 ms of RTT: 8.6 s until a path of 5 Mbit/s was full.
    "prague-2020/batch-l4s-s1-oneflow-ns-prague-dualpi2-5Mbit-160ms": "PP.......P.F.",
    # This kernel of 2020 has no fallback: CUBIC starves beside it in the one queue of CoDel.
    "prague-2020/batch-l4s-s2-twoflow-ns-cubic-vs-prague-codel1q_20ms_-20ms": "PPP.F...PP...",
    "prague-2020/batch-l4s-s2-twoflow-ns-cubic-vs-prague-dualpi2-20ms": "PPP.....PP...",
    # A FIFO: no mark to answer, half of the window at each loss.
    "prague-2020/batch-l4s-s2-twoflow-ns-cubic-vs-prague-pfifo_1000_-20ms": "PP.P....PP...",
    "prague-2020/batch-l4s-s4-capacity-reduction-ns-prague-50Mbit-5mbit-20ms": "PP......PP...",
    "capture/v06-diag/run": "PPP......P...",
    # The buggy build misfires: marks are answered with the fallback's floor.
    "capture/v06bug-bcc/run": "PP.......P...",
    "capture/v07-bcc/run": "PPP.....PP...",
}
"""Verdicts for the sender of ECT(1) in the other recorded runs."""


@pytest.mark.parametrize("run", RECORDED)
def test_every_line_of_the_checklist_is_right_for_other_prague_runs(
    shared_data: Path, run: str
) -> None:
    suffix = ".tcpdump_cli_cli.pcap.xz" if run.startswith("prague") else ".pcapng.xz"
    _, analysis = both(shared_data / f"{run}{suffix}")
    letters = {"pass": "P", "fail": "F", "not shown": "."}
    (checks,) = [one.checks for one in analysis.checklists]
    assert "".join(letters[check.verdict] for check in checks) == RECORDED[run]
