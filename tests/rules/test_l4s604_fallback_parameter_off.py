"""The fallback parameter."""

from l4strace.model import Severity
from l4strace.rules.l4s604_fallback_parameter_off import check
from tests.support.frames import evidence


def host(value: str | None) -> dict[str, object]:
    parameters = {} if value is None else {"prague_ecn_fallback": value}
    return {
        "path": "run.host.json",
        "sockets": [{"cc": "prague"}],
        "modules": {"tcp_prague": {"parameters": parameters}},
    }


def test_fires_when_off_and_when_it_only_detects():
    found = check(evidence(host_files=(host("0"), host("2"))))
    assert [f.severity for f in found] == [Severity.NOTICE] * 2
    assert [f.measures[0].value for f in found] == ["0", "2"]


def test_silent_when_on_and_where_there_is_none():
    assert check(evidence(host_files=(host("1"), host(None)))) == []
