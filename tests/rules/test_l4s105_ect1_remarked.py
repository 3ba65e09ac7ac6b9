"""ECT(1) and ECT(0) swapped."""

from pathlib import Path

import pytest

from l4strace.model import Confidence, Severity
from l4strace.rules.l4s105_ect1_remarked import RULE, check
from tests.support.ends import altered, findings, recorded
from tests.support.frames import evidence, frame


def test_fires_on_the_reflection():
    flows = frame("flows", syn_ecn=1, syn_arrived_ecn=2, synack_frame=2)
    (found,) = check(evidence(flows=flows))
    assert (found.severity, found.confidence) == (Severity.ERROR, Confidence.MEDIUM)
    assert (found.measures[0].value, found.measures[0].expected) == ("ECT(0)", "ECT(1)")


def test_fires_on_counters_that_show_another_codepoint():
    rows = frame("directions", data_ect1=1000, data_ect0=0, e0b_bytes=1_448_000, e1b_bytes=0)
    (found,) = check(evidence(flows=frame("flows"), directions=rows))
    assert found.confidence is Confidence.HIGH


def test_fires_packet_by_packet():
    paths = frame("paths", near=0, far=1, matched=100, ect1_to_ect0=0, ect0_to_ect1=60)
    (found,) = check(evidence(paths=paths))
    assert found.measures[0].value == 60
    assert found.message == (
        "Of 100 packets, 60 left as ECT(0) and arrived as ECT(1). The path re-marks ECN."
    )


def test_fires_on_both_changes_and_counts_each():
    paths = frame("paths", near=0, far=1, matched=100, ect1_to_ect0=7, ect0_to_ect1=60)
    (found,) = check(evidence(paths=paths))
    assert found.measures[0].value == 67
    assert "7 left as ECT(1)" in found.message
    assert "60 left as ECT(0)" in found.message


def test_silent_when_nothing_changes():
    flows = frame("flows", syn_ecn=1, syn_arrived_ecn=1, synack_ecn=2, synack_arrived_ecn=2)
    rows = frame("directions", data_ect1=1000, data_ect0=0, e0b_bytes=0, e1b_bytes=1_448_000)
    paths = frame("paths", matched=100, ect1_to_ect0=0, ect0_to_ect1=0)
    assert check(evidence(flows=flows, directions=rows, paths=paths)) == []


def test_fires_on_a_recording_over_udp_that_a_node_remarks(tmp_path: Path):
    (found,) = findings(RULE, altered("up1", tmp_path, lambda tos: tos & ~3 | 2))
    assert found.forward
    assert found.message == (
        "Of 224 packets, 224 left as ECT(1) and arrived as ECT(0). The path re-marks ECN."
    )


@pytest.mark.parametrize("run", ["up1", "upbleach", "pqbleach", "qg1"])
def test_silent_on_recordings_over_udp(run: str):
    assert findings(RULE, recorded(run)) == []
