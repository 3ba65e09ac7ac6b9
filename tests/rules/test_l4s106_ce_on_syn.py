"""CE on handshake packets."""

import pytest

from l4strace.model import Confidence, Severity
from l4strace.rules.l4s106_ce_on_syn import check
from tests.support.frames import evidence, frame


def test_fires_on_a_syn_that_arrived_marked():
    (found,) = check(evidence(flows=frame("flows", syn_ecn=1, syn_arrived_ecn=3)))
    assert found.severity is Severity.NOTICE
    assert (found.confidence, found.forward) == (Confidence.MEDIUM, True)


def test_fires_as_warning_when_it_was_not_ect():
    (found,) = check(evidence(flows=frame("flows", synack_ecn=0, synack_arrived_ecn=3)))
    assert (found.severity, found.forward) == (Severity.WARNING, False)


@pytest.mark.parametrize("vantage", ["client", "server"])
def test_fires_on_ce_at_the_capture_whoever_set_it(vantage: str):
    (found,) = check(evidence(flows=frame("flows", syn_ecn=3, vantage=vantage)))
    assert (found.severity, found.confidence) == (Severity.NOTICE, Confidence.HIGH)


def test_silent_on_an_unmarked_handshake():
    flows = frame("flows", syn_ecn=1, syn_arrived_ecn=1, synack_ecn=0, synack_arrived_ecn=0)
    assert check(evidence(flows=flows)) == []
