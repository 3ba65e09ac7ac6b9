"""Counters that cannot be."""

import pytest

from l4strace.model import Severity
from l4strace.rules.l4s110_accecn_option_implausible import check
from tests.support.frames import evidence, frame

FLOWS = frame("flows", handshake="full")


def test_fires_on_counters_beyond_what_was_sent():
    rows = frame(
        "directions", option_zeroed=0, option_implausible=4, accecn_options=9, option_fault_frame=2
    )
    (found,) = check(evidence(flows=FLOWS, directions=rows))
    assert found.severity is Severity.WARNING
    assert found.frames == (2,)


def test_fires_on_zeroed_options():
    rows = frame("directions", option_zeroed=9, option_implausible=0, accecn_options=9)
    (found,) = check(evidence(flows=FLOWS, directions=rows))
    assert [m.value for m in found.measures] == [9, 0]
    assert found.message == (
        "Of 9 AccECN options, all report 0 in their first counter, which starts at 1."
    )


def test_fires_on_one_option_in_the_singular():
    rows = frame("directions", option_zeroed=1, option_implausible=2, accecn_options=9)
    (found,) = check(evidence(flows=FLOWS, directions=rows))
    assert found.message == (
        "Of 9 AccECN options, 1 reports 0 in its first counter, which starts at 1, and 2 run "
        "backwards or report more bytes than were sent."
    )


@pytest.mark.parametrize(("at_host", "by_path"), [(0, True), (9, False)])
def test_options_that_left_intact_are_the_fault_of_the_path(at_host: int, by_path: bool):
    """Simulated run s8103-044: both ends show a rewriting path, and the stack was to be updated."""
    flows = frame("flows", source=[0, 1], vantage=["client", "server"], handshake="full")
    acks = {"source": [0, 1], "forward": False, "accecn_options": 9, "option_implausible": 0}
    rows = frame("directions", option_zeroed=[9, at_host], **acks)
    changed = frame("paths", forward=False, near=1, far=0, option_changed=9)
    (found,) = check(evidence(flows=flows, directions=rows, paths=changed))
    assert ("They left the host intact: the path rewrites them." in found.message) == by_path
    assert found.action.startswith("Find the middlebox" if by_path else "Update the stack")
    (blind,) = check(evidence(flows=flows, directions=rows))
    assert "left the host" not in blind.message


def test_silent_on_plausible_options():
    rows = frame("directions", option_zeroed=0, option_implausible=0, accecn_options=9)
    assert check(evidence(flows=FLOWS, directions=rows)) == []


def test_silent_on_bytes_that_were_sent_before_the_capture_began():
    rows = frame("directions", option_zeroed=0, option_implausible=17, accecn_options=567)
    assert check(evidence(flows=frame("flows", handshake="none"), directions=rows)) == []
