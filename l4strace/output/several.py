"""Several unrelated runs in one answer: a verdict each, the file named in each finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from l4strace.evidence import Capture, Evidence
from l4strace.model import Analysis, Severity
from l4strace.output import json, junit, markdown, sarif, text
from l4strace.wording.wrap import whole, wrapped

Judged = tuple[Evidence, Analysis]


def named(capture: Capture, analysis: Analysis) -> Analysis:
    """``analysis`` in which each finding names an input, the first of its run if it named none."""
    first = capture.sources["source"][0]
    findings = (
        finding if finding.source is not None else replace(finding, source=first)
        for finding in analysis.findings
    )
    return replace(analysis, findings=tuple(findings))


def together(runs: Sequence[Judged]) -> Analysis:
    """What was found in all runs, one run after the other, each finding with its input."""
    if len(runs) == 1:
        return runs[0][1]
    parts = [named(evidence, analysis) for evidence, analysis in runs]
    return Analysis(
        tuple(finding for part in parts for finding in part.findings),
        tuple(dict.fromkeys(skipped for part in parts for skipped in part.skipped)),
    )


def in_text(runs: Sequence[Judged], *, color: bool, width: int) -> str:
    """One summary after the other, each under the names of its inputs."""
    return "\n\n".join(
        f"{_title(evidence, width)}\n\n{text.render(evidence, analysis, color=color, width=width)}"
        for evidence, analysis in runs
    )


def in_markdown(runs: Sequence[Judged]) -> str:
    """One part for each run; together they keep the limit of one comment."""
    room = markdown.MAX_BYTES // len(runs)
    parts = []
    for evidence, analysis in runs:
        title = f"## {markdown.text(', '.join(evidence.sources['path']))}\n\n"
        most = room - len(title.encode()) - 2
        parts.append(title + markdown.render(evidence, analysis, most))
    return "\n\n".join(parts)


def in_json(runs: Sequence[Judged]) -> str:
    """The object of `diagnose --json`: its lists hold all runs, `runs` has what is of one alone.

    `status` and `verdict` are those of the run whose verdict is the worst.
    """
    parts = [json.document(evidence, analysis) for evidence, analysis in runs]
    worst = max(parts, key=lambda part: _severity(part["verdict"]))
    merged: dict[str, Any] = {
        key: [row for part in parts for row in part[key]] if isinstance(value, list) else value
        for key, value in worst.items()
    }
    merged["runs"] = [
        {
            "sources": [row["source"] for row in part["sources"]],
            "files": [row["path"] for row in part["sources"]],
            "status": part["status"],
            "verdict": part["verdict"],
        }
        for part in parts
    ]
    return json.dumps(merged)


def in_sarif(runs: Sequence[Judged]) -> str:
    """One SARIF run for each."""
    return sarif.log([sarif.run(evidence, analysis) for evidence, analysis in runs])


def in_junit(runs: Sequence[Judged], fail_on: Severity | None) -> str:
    """One test suite for each."""
    return junit.report([junit.suite(evidence, analysis, fail_on) for evidence, analysis in runs])


def _title(evidence: Evidence, width: int) -> str:
    names = wrapped(", ".join(map(whole, evidence.sources["path"])), width)
    return f"{names}\n{'=' * min(width, len(names.splitlines()[0]))}"


def _severity(verdict: dict[str, Any] | None) -> int:
    if verdict is None or verdict["severity"] is None:
        return -1
    return int(Severity[verdict["severity"].upper()])
