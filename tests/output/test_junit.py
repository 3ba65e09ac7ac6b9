"""JUnit: one case for each rule."""

from xml.etree import ElementTree as Xml

import pytest

from l4strace import rules
from l4strace.model import Analysis, Confidence, Finding, Severity, Skipped
from l4strace.output import junit
from tests.support.frames import evidence, frame


@pytest.mark.parametrize("severity", [Severity.WARNING, Severity.ERROR])
def test_warnings_fail_and_notices_do_not(severity: Severity):
    bad = Finding("L4S104", severity, Confidence.HIGH, "bleached \x00 <here>", flow=2)
    mild = Finding("L4S003", Severity.NOTICE, Confidence.HIGH, "merged")
    analysis = Analysis((bad, mild), (Skipped("L4S109", "one capture"),), rules.RULES)
    rendered = junit.render(evidence(sources=frame("sources")), analysis)
    suite = Xml.fromstring(rendered)  # noqa: S314 - our own output
    assert suite.attrib["name"] == "run.pcap"
    assert suite.attrib["tests"] == str(len(rules.RULES))
    assert (suite.attrib["failures"], suite.attrib["skipped"]) == ("1", "1")
    cases = {case.attrib["classname"]: case for case in suite}
    failure = cases["L4S104"].find("failure")
    assert failure is not None
    assert failure.text == f"{severity.name.lower()}: flow 2: bleached \\x00 <here>"
    assert cases["L4S003"].find("failure") is None
    assert cases["L4S003"].findtext("system-out") == "notice: merged"
