"""Flows without handshake."""

from l4strace.model import Severity
from l4strace.rules.l4s004_mid_stream_start import check
from tests.support.frames import evidence, frame


def test_fires_on_a_flow_without_handshake():
    flows = frame("flows", handshake="none", mode="unknown")
    (found,) = check(evidence(flows=flows, directions=frame("directions")))
    assert (found.severity, found.flow) == (Severity.NOTICE, 0)
    assert found.measures[0].value == "none"


def test_fires_for_each_of_many_flows():
    many = list(range(50))
    flows = frame("flows", flow=many, handshake="none")
    found = check(evidence(flows=flows, directions=frame("directions", flow=many)))
    assert sorted(finding.flow for finding in found) == many


def test_fires_on_part_of_a_handshake_without_claiming_a_late_start():
    flows = frame("flows", handshake="partial")
    (found,) = check(evidence(flows=flows, directions=frame("directions")))
    assert found.measures[0].value == "partial"
    assert "only part" in found.message


def test_fires_on_the_one_flow_without_a_handshake():
    flows = frame("flows", flow=[0, 1], handshake=["full", "none"])
    (found,) = check(evidence(flows=flows, directions=frame("directions", flow=[0, 1])))
    assert found.flow == 1


def test_silent_on_a_full_handshake_and_on_a_flow_without_data():
    flows = frame("flows", flow=[0, 1], handshake=["full", "none"])
    rows = frame("directions", flow=[0, 1], payload_bytes=[100, 0])
    assert check(evidence(flows=flows, directions=rows)) == []
