"""ECT to the end on a path that erases it."""

import pytest

from l4strace.rules.l4s116_ect_kept_unheard import RULE
from tests.support.ends import findings, path, recorded, sent


def test_fires_on_a_recorded_sender_that_does_not_validate():
    (found,) = findings(RULE, recorded("pqbleach"))
    assert found.message.startswith("The sender keeps ECT(1) to the end although the path erases")
    assert (found.forward, found.measures[0].value) == (False, 340)


def test_silent_on_the_twin_whose_path_is_intact_and_on_one_capture():
    assert findings(RULE, recorded("pq1")) == []
    assert findings(RULE, recorded("pqbleach", "a")) == []


@pytest.mark.parametrize("run", ["qgbleach", "upbleach"])
def test_silent_on_senders_that_noticed(run: str):
    assert findings(RULE, recorded(run)) == []


@pytest.mark.parametrize(("cleared", "lost", "found"), [(950, 0, 1), (800, 0, 0), (950, 960, 1)])
def test_silent_where_feedback_still_reports_ect(cleared: int, lost: int, found: int):
    """Nothing over UDP is sent again: what was lost says nothing of what was cleared."""
    kept = sent([1, 1000], paths=path(ect1_to_not_ect=cleared, lost=lost))
    assert len(findings(RULE, kept)) == found


def test_silent_on_a_sender_that_tried_without():
    validated = sent([0, 2, 2, 10, 0, 23, 2, 1000], paths=path(ect0_to_not_ect=1000))
    assert findings(RULE, validated) == []
