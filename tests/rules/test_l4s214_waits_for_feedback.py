"""Senders that stand still until their next report."""

import pytest

from l4strace.evidence import Evidence
from l4strace.model import Finding
from l4strace.rules.l4s214_waits_for_feedback import check
from tests.support.frames import MS, evidence, frame


def waits(reports: int = 100, times: int = 90, share: float = 0.5) -> Evidence:
    own = {"reports": reports, "report_waits": times, "report_wait_us": share * 1e6}
    return evidence(
        udp_flows=frame("flows", transport="udp-prague", last_ns=1000 * MS),
        udp_directions=frame(
            "directions", last_ns=1000 * MS, report_interval_us=25e3, rtt_mean_us=1e4, **own
        ),
    )


def test_fires_when_pauses_end_with_reports() -> None:
    (found,) = check(waits())
    assert isinstance(found, Finding)
    assert "stands still for 50 % of its time (threshold 20 %)" in found.message
    assert "before 90 of 100 reports" in found.message
    assert "Reports come every 25 ms, and the RTT is 10 ms." in found.message


@pytest.mark.parametrize(
    "scene",
    [waits(reports=19, times=19), waits(times=49), waits(share=0.19)],
    ids=["start of a flow", "now and then", "hardly any time"],
)
def test_silent_below_each_threshold(scene: Evidence) -> None:
    assert check(scene) == []
