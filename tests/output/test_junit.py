"""JUnit: one case for each rule."""

from xml.etree import ElementTree as Xml

import pytest

from l4strace import rules
from l4strace.model import Analysis, Confidence, Finding, Severity, Skipped, Unmet
from l4strace.output import junit
from tests.support.frames import evidence, frame

BAD = Finding(Severity.WARNING, Confidence.HIGH, "bleached \x00 <here>", rule="L4S104", flow=2)
MILD = Finding(Severity.NOTICE, Confidence.HIGH, "merged", rule="L4S003")
ANALYSIS = Analysis((BAD, MILD), (Skipped("one capture", rule="L4S109"),), rules.RULES)


def parsed(fail_on: Severity | None) -> Xml.Element:
    rendered = junit.render(evidence(sources=frame("sources")), ANALYSIS, fail_on)
    return Xml.fromstring(rendered)  # noqa: S314 - our own output


def test_one_suite_with_a_case_for_each_rule():
    root = parsed(Severity.WARNING)
    (suite,) = root
    assert (root.tag, suite.tag) == ("testsuites", "testsuite")
    assert root.attrib["failures"] == suite.attrib["failures"] == "1"
    assert suite.attrib["name"] == "run.pcap"
    assert suite.attrib["tests"] == str(len(rules.RULES)) == str(len(suite))
    assert suite.attrib["skipped"] == "1"
    cases = {case.attrib["classname"]: case for case in suite}
    failure = cases["L4S104"].find("failure")
    assert failure is not None
    assert failure.text == "warning: flow 2: bleached \\x00 <here>"
    assert cases["L4S003"].find("failure") is None
    assert cases["L4S003"].findtext("system-out") == "notice: merged"


@pytest.mark.parametrize(
    ("fail_on", "failures"),
    [(None, 0), (Severity.ERROR, 0), (Severity.WARNING, 1), (Severity.NOTICE, 2)],
)
def test_the_bound_decides_what_fails(fail_on: Severity | None, failures: int):
    assert len(parsed(fail_on).findall("testsuite/testcase/failure")) == failures


def test_what_the_caller_expected_has_a_case_of_its_own():
    """The exit code was 1, and no case had failed."""
    wish = Unmet("l4s", "No: flow 0 sends Not-ECT.", "Use Prague.")
    analysis = Analysis((), rules=rules.RULES, expected=("l4s", "accecn"), unmet=(wish,))
    rendered = junit.render(evidence(sources=frame("sources")), analysis, None)
    (suite,) = Xml.fromstring(rendered)  # noqa: S314 - our own output
    assert (suite.attrib["tests"], suite.attrib["failures"]) == (str(len(rules.RULES) + 2), "1")
    missed, met = suite.findall("testcase[@classname='expect']")
    assert missed.findtext("failure") == "No: flow 0 sends Not-ECT. Do: Use Prague."
    assert (met.attrib["name"], len(met)) == ("accecn", 0)
