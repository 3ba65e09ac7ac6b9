"""SARIF 2.1.0, for archives and viewers.

A finding's place is the capture as artifact; flow and frames stand in logical location and
properties. Code scanning services want lines of files in a repository: this is not for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from l4strace.evidence import Capture, traffic
from l4strace.model import Analysis, Confidence, Finding, Rule, Severity
from l4strace.output.json import dumps, finding_value, tool
from l4strace.wording.names import direction_name

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTICE: "note",
    Severity.INFO: "note",
}
RANKS = {Confidence.LOW: 25.0, Confidence.MEDIUM: 50.0, Confidence.HIGH: 90.0}
"""SARIF's rank: how much to trust a result, 0 to 100."""


FINGERPRINT = "ruleAndEnds/v1"


def render(capture: Capture, analysis: Analysis) -> str:
    """The diagnosis as a log of one SARIF run."""
    return log([run(capture, analysis)])


def log(runs: list[dict[str, Any]]) -> str:
    """A log of these runs."""
    return dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": runs})


def run(capture: Capture, analysis: Analysis) -> dict[str, Any]:
    """The diagnosis as one SARIF run."""
    paths = dict(capture.sources.select("source", "path").iter_rows())
    rows: dict[int | None, dict[str, Any]] = {
        row["flow"]: row for row in traffic(capture).flows.iter_rows(named=True)
    }
    flows = {flow: direction_name(row) for flow, row in rows.items() if flow is not None}
    index = {rule.code: number for number, rule in enumerate(analysis.rules)}
    return {
        "tool": {"driver": tool() | {"rules": [_rule(rule) for rule in analysis.rules]}},
        "artifacts": [{"location": {"uri": _uri(path)}} for path in paths.values()],
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [
                    {
                        "level": "note",
                        "message": {"text": f"not judged: {skipped.reason}"},
                        "associatedRule": {"id": skipped.rule},
                    }
                    for skipped in analysis.skipped
                ],
            }
        ],
        "results": [
            _result(finding, paths, flows, index) | {"partialFingerprints": {FINGERPRINT: mark}}
            for finding, mark in zip(
                analysis.findings, _fingerprints(analysis.findings, rows), strict=True
            )
        ],
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.doc.strip().partition("\n")[0]},
        "help": {"text": rule.doc.strip()},
    }


def _result(
    finding: Finding, paths: dict[int, str], flows: dict[int, str], index: dict[str, int]
) -> dict[str, Any]:
    value = finding_value(finding)
    place: dict[str, Any] = {}
    if finding.source in paths:
        place["physicalLocation"] = {"artifactLocation": {"uri": _uri(paths[finding.source])}}
    if finding.flow in flows:
        place["logicalLocations"] = [
            {"name": f"flow {finding.flow}", "fullyQualifiedName": flows[finding.flow]}
        ]
    kept = ("headline", "confidence", "action", "forward", "span_ns", "frames", "measures")
    result = {
        "ruleId": finding.rule,
        "level": LEVELS[finding.severity],
        "rank": RANKS[finding.confidence],
        "message": {"text": finding.message},
        "locations": [place] if place else [],
        "properties": {key: value[key] for key in kept},
    }
    return result | ({"ruleIndex": index[finding.rule]} if finding.rule in index else {})


def _fingerprints(
    findings: Iterable[Finding], flows: dict[int | None, dict[str, Any]]
) -> Iterator[str]:
    """What the same fault has in common in two runs: rule, hosts, served port and direction.

    The client's port is new in every run, so the second such finding of a run is counted as such.
    """
    seen: Counter[tuple[object, ...]] = Counter()
    for finding in findings:
        flow = flows.get(finding.flow, {})
        ends = tuple(flow.get(name) for name in ("client", "server", "server_port"))
        what = (finding.rule, finding.forward, *ends)
        seen[what] += 1
        yield sha256(repr((*what, seen[what])).encode()).hexdigest()[:32]


def _uri(path: str) -> str:
    return "stdin:" if path == "-" else quote(PurePath(path).as_posix())
