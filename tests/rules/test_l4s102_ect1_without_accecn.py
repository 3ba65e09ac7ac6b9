"""ECT(1) without accurate feedback."""

from l4strace.model import Confidence, Severity
from l4strace.rules.l4s102_ect1_without_accecn import check
from tests.support.frames import evidence, frame


def test_fires_on_ect1_under_classic_ecn():
    flows, rows = frame("flows", mode="classic"), frame("directions", data_ect1=900)
    (found,) = check(evidence(flows=flows, directions=rows))
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.HIGH)
    assert found.measures[0].value == 900


def test_silent_under_accecn_and_where_the_mode_is_unknown():
    flows = frame("flows", flow=[0, 1], mode=["accecn", "unknown"])
    assert (
        check(evidence(flows=flows, directions=frame("directions", flow=[0, 1], data_ect1=900)))
        == []
    )


def test_silent_on_ect0_under_classic_ecn():
    rows = frame("directions", data_ect1=0, data_ect0=900)
    assert check(evidence(flows=frame("flows", mode="classic"), directions=rows)) == []


def both_ends(at_sender: int, at_receiver: int, near_mode: str = "classic"):
    """A flow with so many ECT(1) packets at its sender and at its receiver."""
    flows = frame("flows", source=[0, 1], mode=[near_mode, "classic"], vantage=["client", "server"])
    sent = frame("directions", source=[0, 1], data_ect1=[at_sender, at_receiver])
    return evidence(flows=flows, directions=sent)


def test_silent_on_ect0_that_the_path_makes_ect1():
    assert check(both_ends(0, 900)) == []


def test_fires_at_the_sender_whose_capture_began_after_the_handshake():
    (found,) = check(both_ends(900, 900, "unknown"))
    assert (found.source, found.confidence) == (0, Confidence.HIGH)


def test_fires_at_the_receiver_alone_without_blaming_the_sender():
    flows = frame("flows", mode="classic", vantage="server")
    (found,) = check(evidence(flows=flows, directions=frame("directions", data_ect1=900)))
    assert found.confidence is Confidence.MEDIUM
    assert "or the path re-marks ECT(0)" in found.message
    assert found.action.startswith("Capture at the sender.")
