"""The AccECN option's sysctl."""

from l4strace.model import Severity
from l4strace.rules.l4s606_accecn_option_off import check
from tests.support.frames import evidence


def host(value: str) -> dict[str, object]:
    return {"path": "run.host.json", "sysctls": {"net.ipv4.tcp_ecn_option": value}}


def test_fires_when_off():
    (found,) = check(evidence(host_files=(host("0"),)))
    assert found.severity is Severity.NOTICE


def test_silent_when_on_and_on_kernels_without_it():
    assert check(evidence(host_files=(host("2"), {"sysctls": {}}))) == []
