"""AccECN without ECT."""

import pytest

from l4strace.model import Confidence, Severity
from l4strace.rules.l4s113_ecn_without_ect import check
from tests.support.frames import evidence, frame, stack

NOT_ECT = {"data_not_ect": 1000, "data_ect1": 0, "data_ect0": 0, "data_ce": 0}


def test_fires_on_not_ect_data_behind_the_path():
    flows = frame("flows", vantage="server")
    (found,) = check(evidence(flows=flows, directions=frame("directions", **NOT_ECT)))
    assert (found.severity, found.confidence) == (Severity.WARNING, Confidence.MEDIUM)
    assert [m.value for m in found.measures] == [1000, 1000]


def test_fires_with_certainty_at_the_sender():
    flows = frame("flows", vantage="client")
    (found,) = check(evidence(flows=flows, directions=frame("directions", **NOT_ECT)))
    assert found.confidence is Confidence.HIGH


@pytest.mark.parametrize("mode", ["accecn", "unknown"])
def test_silent_when_another_capture_saw_it_leave_as_ect(mode: str):
    """Whether or not that one began after the handshake."""
    near = frame("directions", source=1, data_not_ect=0, data_ect1=1000, data_ect0=0, data_ce=0)
    flows = frame("flows", source=[0, 1], vantage=["server", "client"], mode=["accecn", mode])
    both = stack(frame("directions", **NOT_ECT), near)
    assert check(evidence(flows=flows, directions=both)) == []


def test_silent_on_ect_data_and_under_classic_ecn():
    ect = frame("directions", data_not_ect=0, data_ect1=1000, data_ect0=0, data_ce=0)
    classic = frame("directions", flow=1, **NOT_ECT)
    flows = frame("flows", flow=[0, 1], mode=["accecn", "none"])
    assert check(evidence(flows=flows, directions=stack(ect, classic))) == []


def test_fires_under_classic_ecn_behind_a_path_that_clears_it():
    flows = frame("flows", vantage="client", mode="classic", syn_ace=0b011)
    download = frame("directions", forward=False, **NOT_ECT)
    (found,) = check(evidence(flows=flows, directions=download))
    assert (found.severity, found.confidence) == (Severity.WARNING, Confidence.MEDIUM)
    assert "although classic ECN was negotiated: an earlier node bleached it" in found.message


def test_silent_on_prague_that_got_classic_ecn():
    flows = frame("flows", vantage="server", mode="classic", syn_ace=0b111)
    assert check(evidence(flows=flows, directions=frame("directions", **NOT_ECT))) == []


def test_fires_as_notice_on_a_classic_sender_that_does_not_use_ecn():
    flows = frame("flows", vantage="client", mode="classic", syn_ace=0b011)
    (found,) = check(evidence(flows=flows, directions=frame("directions", **NOT_ECT)))
    assert found.severity is Severity.NOTICE
