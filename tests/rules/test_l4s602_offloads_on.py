"""Offloads during the capture."""

from l4strace.model import Severity
from l4strace.rules.l4s602_offloads_on import check
from tests.support.frames import evidence, frame


def host(**offloads: bool) -> dict[str, object]:
    return {"path": "run.host.json", "interfaces": {"eth0": {"offloads": offloads}}}


def test_fires_as_notice_when_packets_were_merged():
    rows = frame("directions", super_packets=10)
    (found,) = check(evidence(host_files=(host(gro=True, tso=False),), directions=rows))
    assert found.severity is Severity.NOTICE
    assert found.action == "Run ethtool -K eth0 gro off"


def test_fires_as_information_when_none_was():
    rows = frame("directions")
    (found,) = check(evidence(host_files=(host(gro=True, tso=True),), directions=rows))
    assert found.severity is Severity.INFO


def test_silent_when_they_were_off():
    assert check(evidence(host_files=(host(gro=False, rx_checksum=True),))) == []
