"""Validation of ECN by QUIC: given up or passed."""

import polars as pl
import pytest

from l4strace.model import Confidence
from l4strace.rules.l4s115_ecn_validation_failed import RULE
from tests.support.ends import findings, path, recorded, sent
from tests.support.frames import frame


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


NO_COUNTS = "ACK doesn't contain ECN marks"


def log(state: str, trigger: str | None = None, forward: bool = True) -> dict[str, pl.DataFrame]:
    """The tables of a qlog of the sender."""
    samples = {"ecn_state": ["testing", state], "ecn_trigger": [None, trigger]}
    return {
        "sources": frame("sources", source=[0, 9], kind=["pcap", "qlog"]),
        "udp_kernel": frame("kernel", source=9, forward=forward, ts_ns=[1, 2], **samples),
    }


@pytest.mark.parametrize(
    ("change", "trigger", "cause", "sure"),
    [
        ({"ect0_to_not_ect": 13}, NO_COUNTS, "The path clears ECT (L4S104).", True),
        ({"ect0_to_ect0": 13}, NO_COUNTS, "the receiver does not report ECN.", True),
        ({"ect0_to_ect0": 13}, "ACK decreases ECN counts", "sender counts wrongly.", True),
        ({"ect0_to_ect0": 13}, None, "or the sender misreads the report.", False),
        ({}, NO_COUNTS, "clears it, or the receiver does not report it.", False),
        ({}, "ECN mangling detected", "a node of the path sets it.", False),
        ({}, "in words that nobody knows", "one capture does not show which.", False),
    ],
)
def test_fires_with_the_reason_that_packets_and_log_give_together(
    change: dict[str, int], trigger: str | None, cause: str, sure: bool
):
    run = sent([0, 2, 2, 13, 0, 300], paths=path(**change), **log("failed", trigger))
    (found,) = findings(RULE, run)
    assert found.message.endswith(cause)
    assert "Its log: failed" in found.message
    assert (trigger or "failed") in found.message
    assert (found.confidence is Confidence.HIGH) is sure


def test_silent_where_the_log_states_that_validation_passed():
    assert findings(RULE, sent([0, 2, 2, 13, 0, 300], **log("capable"))) == []


def test_fires_by_the_log_of_what_came_before_the_capture():
    (found,) = findings(RULE, sent([0, 900], **log("failed", NO_COUNTS)))
    assert found.source == 9
    assert NO_COUNTS in found.message
    assert findings(RULE, sent([0, 900], **log("testing"))) == []
