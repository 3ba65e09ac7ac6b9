"""Options that do not arrive."""

from l4strace.model import Severity, Skipped
from l4strace.rules.l4s109_accecn_option_stripped import check
from tests.support.frames import evidence, frame


def test_fires_on_removed_options():
    paths = frame(
        "paths", near=1, far=0, forward=False, matched=900, option_stripped=800, option_changed=0
    )
    (found,) = check(evidence(paths=paths))
    assert found.severity is Severity.WARNING
    assert [m.value for m in found.measures] == [800, 0]


def test_silent_when_they_arrive():
    paths = frame("paths", matched=900, option_stripped=0, option_changed=0)
    assert check(evidence(paths=paths)) == []


def test_skipped_with_one_capture():
    (skipped,) = check(evidence())
    assert isinstance(skipped, Skipped)


def test_fires_and_names_what_was_done_alone():
    """Run s1501-021: "it removed 0 and rewrote 376"."""
    paths = frame("paths", near=1, far=0, option_stripped=0, option_changed=376)
    (found,) = check(evidence(paths=paths))
    assert found.message == "The path changes AccECN options: it rewrote 376 of them."
