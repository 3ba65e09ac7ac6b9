"""JUnit XML, for CI: one test case for each rule, failed by warnings and errors."""

from __future__ import annotations

from xml.etree import ElementTree as Xml

from l4strace.console import printable
from l4strace.evidence import Capture
from l4strace.model import Analysis, Finding, Severity

FAILING = Severity.WARNING
"""From here on a finding fails its rule's test case; milder ones are its output."""


def render(capture: Capture, analysis: Analysis) -> str:
    """The diagnosis as one test suite named after the inputs."""
    found: dict[str, list[Finding]] = {}
    for finding in analysis.findings:
        found.setdefault(finding.rule, []).append(finding)
    reasons = {skipped.rule: skipped.reason for skipped in analysis.skipped}
    suite = Xml.Element("testsuite", name=_clean(", ".join(capture.sources["path"])))
    for rule in analysis.rules:
        case = Xml.SubElement(suite, "testcase", classname=rule.code, name=rule.name)
        own = found.get(rule.code, [])
        bad = [finding for finding in own if finding.severity >= FAILING]
        if bad:
            failure = Xml.SubElement(case, "failure", message=_clean(bad[0].message))
            failure.text = _clean("\n".join(_line(finding) for finding in bad))
        elif rule.code in reasons and not own:
            Xml.SubElement(case, "skipped", message=_clean(reasons[rule.code]))
        if mild := [finding for finding in own if finding.severity < FAILING]:
            Xml.SubElement(case, "system-out").text = _clean("\n".join(map(_line, mild)))
    suite.set("tests", str(len(analysis.rules)))
    for name, tag in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(name, str(len(suite.findall(f"testcase/{tag}"))))
    Xml.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(suite, encoding="unicode")


def _line(finding: Finding) -> str:
    place = "" if finding.flow is None else f"flow {finding.flow}: "
    return f"{finding.severity.name.lower()}: {place}{finding.message}"


def _clean(text: str) -> str:
    """XML has no place for control characters, however escaped."""
    return printable(text)
