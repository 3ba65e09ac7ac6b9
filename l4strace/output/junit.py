"""JUnit XML, for CI: a test case for each expectation and each rule.

What makes the exit code 1 fails them.
"""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree as Xml

from l4strace.console import printable
from l4strace.evidence import Capture
from l4strace.model import Analysis, Finding, Severity


def render(capture: Capture, analysis: Analysis, fail_on: Severity | None = Severity.ERROR) -> str:
    """The diagnosis as one test suite named after the inputs (see `suite`)."""
    return report([suite(capture, analysis, fail_on)])


def report(suites: Sequence[Xml.Element]) -> str:
    """The document with these suites."""
    root = Xml.Element("testsuites", name="l4strace")
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in suites)))
    root.extend(suites)
    Xml.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + Xml.tostring(root, encoding="unicode")


def suite(capture: Capture, analysis: Analysis, fail_on: Severity | None) -> Xml.Element:
    """One test case for each expectation of the caller and each rule.

    A finding from ``fail_on`` on fails its rule's test case (null: none does); milder ones are its
    output.
    """
    found: dict[str, list[Finding]] = {}
    for finding in analysis.findings:
        found.setdefault(finding.rule, []).append(finding)
    reasons = {skipped.rule: skipped.reason for skipped in analysis.skipped}
    suite = Xml.Element("testsuite", name=_clean(", ".join(capture.sources["path"])))
    missed = {one.expectation: one for one in analysis.unmet}
    for name in analysis.expected:
        case = Xml.SubElement(suite, "testcase", classname="expect", name=name)
        if unmet := missed.get(name):
            failure = Xml.SubElement(case, "failure", message=_clean(unmet.reason))
            failure.text = _clean(f"{unmet.reason} Do: {unmet.action}")
    for rule in analysis.rules:
        case = Xml.SubElement(suite, "testcase", classname=rule.code, name=rule.name)
        _judge(case, found.get(rule.code, []), reasons.get(rule.code, ""), fail_on)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    return suite


def _judge(case: Xml.Element, own: list[Finding], reason: str, fail_on: Severity | None) -> None:
    """Fills the test case of one rule with its findings, or why there are none."""
    bad = [finding for finding in own if fail_on is not None and finding.severity >= fail_on]
    if bad:
        failure = Xml.SubElement(case, "failure", message=_clean(bad[0].headline or bad[0].message))
        failure.text = _clean("\n".join(_line(finding) for finding in bad))
    elif reason and not own:
        Xml.SubElement(case, "skipped", message=_clean(reason))
    if mild := [finding for finding in own if finding not in bad]:
        Xml.SubElement(case, "system-out").text = _clean("\n".join(map(_line, mild)))


def _line(finding: Finding) -> str:
    place = "" if finding.flow is None else f"flow {finding.flow}: "
    return f"{finding.severity.name.lower()}: {place}{finding.message}"


def _clean(text: str) -> str:
    """XML has no place for control characters, however escaped."""
    return printable(text)
