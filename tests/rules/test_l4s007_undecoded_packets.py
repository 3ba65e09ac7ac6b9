"""Packets left out."""

import pytest

from l4strace.model import Severity
from l4strace.rules.l4s007_undecoded_packets import check
from tests.support.frames import evidence, frame


def test_fires_on_an_unknown_link_type():
    stats = frame(
        "stats", name="unknown_link_type", count=90, severity="loss", detail="link type 160"
    )
    (found,) = check(evidence(sources=frame("sources", records=100), stats=stats))
    assert found.severity is Severity.WARNING
    assert "link type 160" in found.message


@pytest.mark.parametrize(("name", "packets"), [("bad_lengths", 1), ("bad_timestamps", 3)])
def test_fires_as_notice_on_a_few(name: str, packets: int):
    stats = frame("stats", name=name, count=packets, severity="error")
    (found,) = check(evidence(sources=frame("sources", records=100), stats=stats))
    assert (found.severity, found.measures[0].value) == (Severity.NOTICE, packets)


def test_fires_and_leaves_out_no_packet_that_was_used():
    """Packets of a cut capture whose original length is lost are as long as IP states."""
    stats = frame("stats", name="odd_lengths", count=90, severity="error")
    (found,) = check(evidence(sources=frame("sources", records=100), stats=stats))
    assert found.severity is Severity.NOTICE
    assert "were used, by IP's own length: 90" in found.message


def test_silent_on_traffic_that_is_not_tcp():
    stats = frame("stats", name="not_tcp", count=50, severity="info")
    assert check(evidence(sources=frame("sources", records=100), stats=stats)) == []
