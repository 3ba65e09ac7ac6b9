"""Changes that no queue may make."""

from pathlib import Path

import pytest

from l4strace.model import Severity, Skipped
from l4strace.rules.l4s107_path_changes_codepoint import RULE, check
from tests.support.ends import altered, findings, recorded
from tests.support.frames import evidence, frame


def test_fires_on_cleared_ce():
    paths = frame("paths", near=0, far=1, matched=100, ce_to_ect1=7, first_change_frame_near=12)
    (found,) = check(evidence(paths=paths))
    assert found.severity is Severity.ERROR
    assert found.measures[0].value == 7
    assert found.frames == (12,)


def test_silent_on_marks_and_on_what_other_rules_report():
    paths = frame(
        "paths", matched=100, ect1_to_ce=20, ect1_to_not_ect=5, ect1_to_ect0=5, not_ect_to_ce=0
    )
    assert check(evidence(paths=paths)) == []


def test_skipped_with_one_capture():
    (skipped,) = check(evidence())
    assert isinstance(skipped, Skipped)


def test_fires_on_a_recording_over_udp_that_a_node_marks_without_asking(tmp_path: Path):
    """What left as Not-ECT arrives as ECT(1); marks of ECT packets are a queue's."""
    found = findings(RULE, altered("upbleach", tmp_path, lambda tos: tos | 1))
    assert found
    assert all("left as Not-ECT and arrived as ECT(1)" in one.message for one in found)


@pytest.mark.parametrize("run", ["up1", "upbleach", "pqbleach", "qg1"])
def test_silent_on_recordings_over_udp(run: str):
    assert findings(RULE, recorded(run)) == []


def test_silent_where_a_queue_marks_all(tmp_path: Path):
    marked = altered("up1", tmp_path, lambda tos: tos | 3 if tos & 3 else tos)
    assert findings(RULE, marked) == []
