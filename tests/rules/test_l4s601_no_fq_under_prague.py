"""fq under Prague."""

from l4strace.model import Severity, Skipped
from l4strace.rules.l4s601_no_fq_under_prague import check
from tests.support.frames import evidence


def host(kind: str, control: str = "prague") -> dict[str, object]:
    return {
        "path": "run.host.json",
        "sysctls": {"net.ipv4.tcp_congestion_control": control},
        "before": {"interfaces": {"eth0": {"qdiscs": [{"kind": kind, "handle": "root"}]}}},
    }


def test_fires_on_pfifo_fast():
    (found,) = check(evidence(host_files=(host("pfifo_fast"),)))
    assert found.severity is Severity.NOTICE
    assert found.measures[0].value == "pfifo_fast"


def test_silent_with_fq_and_without_prague():
    assert check(evidence(host_files=(host("fq"), host("pfifo_fast", "cubic")))) == []


def test_silent_on_a_host_file_that_is_garbage():
    assert check(evidence(host_files=({"before": 3, "sockets": "x", "sysctls": []},))) == []


def test_skipped_without_a_host_file():
    (skipped,) = check(evidence())
    assert isinstance(skipped, Skipped)
