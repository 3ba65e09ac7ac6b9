"""tcp_ecn against AccECN."""

from l4strace.model import Severity
from l4strace.rules.l4s603_tcp_ecn_cannot_negotiate import check
from tests.support.frames import evidence, frame


def host(value: object) -> dict[str, object]:
    return {"path": "server.host.json", "sysctls": {"net.ipv4.tcp_ecn": value}}


def test_fires_when_accecn_was_requested():
    flows = frame("flows", mode="classic", syn_ace=7)
    (found,) = check(evidence(host_files=(host("1"),), flows=flows))
    assert found.severity is Severity.WARNING
    assert found.measures[0].value == 1
    assert "Linux 7.0" in found.action


def test_fires_as_information_when_nobody_requested_it():
    flows = frame("flows", mode="none", syn_ace=0)
    (found,) = check(evidence(host_files=(host("2"),), flows=flows))
    assert found.severity is Severity.INFO


def test_silent_when_it_can_and_when_a_flow_has_it_anyway():
    assert check(evidence(host_files=(host("3"),), flows=frame("flows", mode="none"))) == []
    assert check(evidence(host_files=(host("1"),), flows=frame("flows", mode="accecn"))) == []
    assert check(evidence(host_files=(host("?"),), flows=frame("flows", mode="none"))) == []
