"""Changes that no queue may make."""

from l4strace.model import Severity, Skipped
from l4strace.rules.l4s107_path_changes_codepoint import check
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
