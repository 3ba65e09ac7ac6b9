"""Option against ACE."""

from l4strace.model import Confidence
from l4strace.rules.l4s111_accecn_option_contradicts_ace import check
from tests.support.frames import evidence, frame


def test_fires_on_repeated_contradictions():
    rows = frame("directions", option_contradicts_ace=50, accecn_options=400, option_fault_frame=77)
    (found,) = check(evidence(directions=rows))
    assert (found.confidence, found.frames) == (Confidence.MEDIUM, (77,))


def test_silent_on_a_handful():
    rows = frame(
        "directions", flow=[0, 1], option_contradicts_ace=[2, 5], accecn_options=[10, 4000]
    )
    assert check(evidence(directions=rows)) == []
