"""A detector that saw no CE."""

from l4strace.model import Severity, Skipped
from l4strace.rules.l4s307_detector_never_armed import check
from tests.support.frames import evidence
from tests.support.scenes import log

UNMARKED = {"saw_ce": False, "delivered_ce": 0, "alpha": 1.0}


def test_fires_when_no_ce_came() -> None:
    (found,) = check(evidence(kernel=log(**UNMARKED)))
    assert found.severity is Severity.NOTICE
    assert [m.value for m in found.measures] == [0, 1.0, 200]


def test_silent_with_marks_and_for_tiny_flows() -> None:
    assert check(evidence(kernel=log())) == []
    assert check(evidence(kernel=log(10, **UNMARKED))) == []


def test_skips_without_a_score() -> None:
    assert isinstance(check(evidence())[0], Skipped)
