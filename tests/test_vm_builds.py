"""Prague as each published build behaves: what capture and diagnose make of it, by every source.

Needs what test_vm.py needs, and clang; takes minutes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from l4strace import pipeline
from l4strace.evidence import Evidence
from l4strace.model import Analysis, Severity
from tests.support.kernel_log import read_log
from tests.support.machine import WITH_LAB, boots, build_or_skip, run_job

MISFIRE, BUILT_IN, NO_DETECTOR = "P3-values", "P2-builtin", "P7-none"
"""24-bit build with 20-bit references, 20-bit build, and 0.7; each in a kernel of another form."""
FALLBACK = {"L4S301", "L4S302", "L4S303", "L4S304", "L4S308"}
RECORDED, DIAG, TRACEFS = ".kernel.ndjson.zst", "-diag.ndjson", "-tracefs.ndjson"
"""By bcc, or where there is none by what `capture` takes in its place; and by the other sources."""

pytestmark = boots(5400, WITH_LAB)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build_or_skip(lab=True)
    builds = ",".join(name.replace("-", "/") for name in (MISFIRE, BUILT_IN, NO_DETECTOR))
    return run_job("builds", tmp_path_factory.mktemp("builds"), BUILDS=builds)


def diagnosed(runs: Path, name: str, log: str) -> tuple[Evidence, Analysis]:
    """One run with one of its logs."""
    paths = [str(runs / f"{name}.pcapng"), str(runs / f"{name}{log}")]
    evidence = pipeline.derive(pipeline.read(paths, companions=False))
    return evidence, pipeline.judge(evidence, strict=True)


def trouble(analysis: Analysis) -> set[str]:
    """Rules that warn; L4S308 also states, as an information, that a fallback does not act."""
    bad = (Severity.WARNING, Severity.ERROR)
    return {one.rule for one in analysis.findings if one.severity in bad}


def build_of(evidence: Evidence) -> dict[str, Any]:
    """The build of the flow that is logged; rows of the other end have none."""
    return evidence.builds.filter(evidence.builds["build"].is_not_null()).row(0, named=True)


def doctor(runs: Path, name: str) -> dict[str, str]:
    document = json.loads((runs / f"{name}.doctor").read_text())
    says = {row["topic"]: row["says"] for row in document["doctor"]}
    return {**says, "sentence": document["sentence"]}


def test_a_module_without_type_information_misfires_and_is_named(runs: Path) -> None:
    layout = read_log(runs / f"{MISFIRE}{RECORDED}")[-1]["layout"]
    assert (layout["name"], layout["found"]) == ("P3", "values")
    evidence, analysis = diagnosed(runs, MISFIRE, RECORDED)
    assert {"L4S301", "L4S302"} <= trouble(analysis)
    build = build_of(evidence)
    assert (build["build"], build["bits"]) == ("24-bit buggy", 24)
    assert build["reproduced"] == build["steps"] > 50


def test_a_prague_that_is_built_in_is_read_and_healthy(runs: Path) -> None:
    layout = read_log(runs / f"{BUILT_IN}{RECORDED}")[0]["layout"]
    assert (layout["name"], layout["found"]) == ("P2", "btf")
    assert "layout P2 (read from type information)" in doctor(runs, BUILT_IN)["Prague"]
    assert doctor(runs, BUILT_IN)["BTF"] == "vmlinux"
    evidence, analysis = diagnosed(runs, BUILT_IN, RECORDED)
    assert not FALLBACK & trouble(analysis)
    assert build_of(evidence)["bits"] == 20


def test_a_kernel_without_type_information_is_recorded_by_tracefs(runs: Path) -> None:
    told = (runs / f"{NO_DETECTOR}.told").read_text()
    assert "no bcc: no BTF in this kernel" in told
    assert "kernel state by tracefs" in told
    said = doctor(runs, NO_DETECTOR)
    assert "guessed, and not read: that needs vmlinux BTF" in said["Prague"]
    assert "kernel state by tracefs" in said["sentence"]
    assert not FALLBACK & trouble(diagnosed(runs, NO_DETECTOR, RECORDED)[1])


@pytest.mark.parametrize(("name", "bits"), [(MISFIRE, 24), (BUILT_IN, 20)])
def test_polls_show_alpha_in_its_width(runs: Path, name: str, bits: int) -> None:
    evidence, _ = diagnosed(runs, name, DIAG)
    assert evidence.kernel["alpha_bits"].drop_nulls().unique().to_list() == [bits]


def test_a_width_that_polls_cannot_prove_is_null(runs: Path) -> None:
    """Alpha of 0.7 starts at 0, not at the largest that its width allows."""
    evidence, _ = diagnosed(runs, NO_DETECTOR, DIAG)
    assert set(evidence.kernel["alpha_bits"].drop_nulls()) <= {24}


@pytest.mark.parametrize("log", [DIAG, TRACEFS])
def test_without_the_score_packets_show_the_misfire(runs: Path, log: str) -> None:
    """And what rests on the score says that this source has none."""
    _, analysis = diagnosed(runs, MISFIRE, log)
    assert "L4S308" in trouble(analysis)
    reasons = {one.rule: one.reason for one in analysis.skipped}
    assert reasons["L4S301"] == reasons["L4S302"] == "the kernel log has no classic_ecn"
