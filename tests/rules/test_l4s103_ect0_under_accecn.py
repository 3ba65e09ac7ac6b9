"""ECT(0) from an L4S sender."""

from l4strace.model import Severity
from l4strace.rules.l4s103_ect0_under_accecn import check
from tests.support.frames import evidence, frame

ECT0 = {"data_ect0": 900, "data_ect1": 0, "data_not_ect": 0, "data_ce": 100}


def test_fires_when_the_syn_was_ect1():
    flows = frame("flows", syn_ecn=1)
    (found,) = check(evidence(flows=flows, directions=frame("directions", **ECT0)))
    assert found.severity is Severity.WARNING
    assert [m.value for m in found.measures] == [900, 0]


def test_fires_when_the_kernel_runs_prague():
    kernel = frame("kernel", cc="prague", flow=0)
    flows = frame("flows", syn_ecn=0)
    assert (
        len(check(evidence(flows=flows, directions=frame("directions", **ECT0), kernel=kernel)))
        == 1
    )


def test_silent_on_a_classic_controller_with_accecn():
    flows = frame("flows", syn_ecn=0, synack_ecn=0)
    assert check(evidence(flows=flows, directions=frame("directions", **ECT0))) == []


def test_silent_on_ect1_data():
    rows = frame("directions", data_ect0=0, data_ect1=1000, data_not_ect=0)
    assert check(evidence(flows=frame("flows", syn_ecn=1), directions=rows)) == []
