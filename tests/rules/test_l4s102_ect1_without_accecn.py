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
