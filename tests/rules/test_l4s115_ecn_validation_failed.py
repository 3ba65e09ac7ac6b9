"""Validation of ECN by QUIC: given up or passed."""

import pytest

from l4strace.rules.l4s115_ecn_validation_failed import RULE
from tests.support.ends import findings, path, recorded, sent


def test_fires_on_a_recorded_validation_that_the_path_makes_fail():
    (found,) = findings(RULE, recorded("qgbleach"))
    assert found.message.startswith("ECN validation failed: after 10 packets with ECT(0)")
    assert found.message.endswith("The path clears ECT (L4S104).")
    assert found.frames == (17,)


def test_fires_on_the_sender_alone_and_leaves_the_reason_open():
    (found,) = findings(RULE, recorded("qgbleach", "a"))
    assert "one capture does not show which" in found.message


def test_silent_on_the_twin_that_passes():
    assert findings(RULE, recorded("qg1")) == []
    assert findings(RULE, recorded("qg1", "a")) == []
    assert findings(RULE, recorded("qgbleach", "b")) == []


@pytest.mark.parametrize(
    ("runs", "transport"),
    [
        ([0, 2, 2, 10, 0, 199], "quic"),  # it may still wait for the acknowledgements
        ([0, 2, 2, 10, 0, 23, 2, 900, 0, 300], "quic"),  # it passed
        ([0, 2, 2, 10, 0, 900], "udp"),
        ([0, 900], "quic"),
    ],
)
def test_silent_where_something_else_explains_it(runs: list[int], transport: str):
    assert findings(RULE, sent(runs, transport)) == []


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"ect0_to_not_ect": 13}, "clears ECT (L4S104)"),
        ({"ect0_to_ect1": 13}, "swaps ECT(1) and ECT(0) (L4S105)"),
        ({"ect0_to_ce": 13}, "Every packet with ECT arrived as CE"),
        ({"ect0_to_ect0": 12, "ect0_to_ce": 1}, "ECT arrived as it left"),
        ({}, "one capture does not show which"),
    ],
)
def test_fires_with_what_became_of_the_probes(change: dict[str, int], cause: str):
    (found,) = findings(RULE, sent([0, 2, 2, 13, 0, 300], paths=path(**change)))
    assert cause in found.message
