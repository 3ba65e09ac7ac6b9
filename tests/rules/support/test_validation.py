"""What logs of QUIC senders state of their ECN validation."""

import pytest

from l4strace.rules.support import tried, validation
from tests.support.frames import evidence, frame


def test_the_last_state_of_a_qlog_counts_from_its_first_sample():
    states = ["testing", "failed", "failed"]
    run = evidence(
        sources=frame("sources", source=[0, 8, 9], kind=["pcap", "qlog", "udp-prague"]),
        udp_kernel=frame(
            "kernel",
            source=[8, 8, 8, 9, 8],
            flow=[3, 3, 3, 4, None],
            ts_ns=[10, 20, 30, 10, 40],
            ecn_state=[*states, "failed", "capable"],
            ecn_trigger=[None, "why", "why", None, None],
        ),
    )
    ended = validation.Logged(8, 3, True, "failed", "why", 20, 30)
    assert validation.logged(run) == {(3, True): ended}
    assert ended.quoted == 'Its log: failed ("why").'
    assert validation.logged(evidence()) == {}


@pytest.mark.parametrize("reason", validation.REASONS)
@pytest.mark.parametrize("became", [*tried.BECAME, "reported", "unknown"])
def test_each_reason_has_its_words_and_packets_win(became: str, reason: str):
    log = validation.Logged(8, 3, True, "failed", reason, 20, 30)
    why = validation.cause(became, log)
    assert why in tried.CAUSES.keys() & tried.ACTIONS.keys()
    if became not in ("intact", "unknown"):
        assert why == became
    assert validation.cause(became, log._replace(state="testing")) == became
    assert validation.cause(became, None) == became
