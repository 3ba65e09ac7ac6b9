"""ECT(1) and ECT(0) swapped."""

from l4strace.model import Confidence, Severity
from l4strace.rules.l4s105_ect1_remarked import check
from tests.support.frames import evidence, frame


def test_fires_on_the_reflection():
    flows = frame("flows", syn_ecn=1, syn_arrived_ecn=2, synack_frame=2)
    (found,) = check(evidence(flows=flows))
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.MEDIUM)
    assert "left here as ECT(1) and arrived as ECT(0)" in found.message


def test_fires_on_counters_that_tell_another_codepoint():
    ways = frame("directions", data_ect1=1000, data_ect0=0, e0b_bytes=1_448_000, e1b_bytes=0)
    (found,) = check(evidence(flows=frame("flows"), directions=ways))
    assert found.confidence is Confidence.HIGH


def test_fires_packet_by_packet():
    paths = frame("paths", near=0, far=1, matched=100, ect1_to_ect0=0, ect0_to_ect1=60)
    (found,) = check(evidence(paths=paths))
    assert "60 of 100 packets left as ECT(0) and arrived as ECT(1)" in found.message


def test_silent_when_nothing_changes():
    flows = frame("flows", syn_ecn=1, syn_arrived_ecn=1, synack_ecn=2, synack_arrived_ecn=2)
    ways = frame("directions", data_ect1=1000, data_ect0=0, e0b_bytes=0, e1b_bytes=1_448_000)
    paths = frame("paths", matched=100, ect1_to_ect0=0, ect0_to_ect1=0)
    assert check(evidence(flows=flows, directions=ways, paths=paths)) == []
