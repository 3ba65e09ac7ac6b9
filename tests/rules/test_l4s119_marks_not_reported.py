"""Marks that arrived over UDP against those reported."""

import pytest

from l4strace.evidence import Evidence
from l4strace.model import Finding
from l4strace.rules.l4s119_marks_not_reported import check
from tests.support.frames import evidence, frame


def at(vantage: str, ce: int, reported: int) -> Evidence:
    """1,000 packets, of which reports on 900 are read."""
    return evidence(
        udp_flows=frame("flows", vantage=vantage, transport="rtp"),
        udp_directions=frame("directions", ce=ce, ce_fed_back_best=reported, reported_packets=900),
    )


def test_fires_when_marks_arrive_and_none_is_reported() -> None:
    (found,) = check(at("server", 103, 0))
    assert isinstance(found, Finding)
    assert "103 packets arrived with CE (threshold 3)" in found.message
    assert "reports 900 packets of this RTP flow, reports no mark" in found.message


@pytest.mark.parametrize(
    "scene",
    [at("server", 102, 0), at("server", 300, 1), at("client", 300, 0), at("unknown", 300, 0)],
    ids=["maybe unread", "reported", "at the sender", "anywhere"],
)
def test_silent_without_proof(scene: Evidence) -> None:
    assert check(scene) == []
