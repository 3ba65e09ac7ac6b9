"""Sentences about qdiscs."""

from l4strace.rules.support import qdiscs
from tests.support import frames


def test_a_sentence_for_each_qdisc_and_a_count_of_the_rest() -> None:
    many = qdiscs.QDISCS_SHOWN + 3
    found = frames.frame(
        "qdiscs",
        ts_ns=[second * 10**9 for second in (0, 1) for _ in range(many)],
        interface=[f"eth{n}" for n in range(many)] * 2,
        kind="fq_codel",
        handle="8001:",
        sent_packets=[0] * many + [90] * many,
        drops=[0] * many + [10] * many,
        marks=[0] * many + [20] * many,
        delay_l_us=350.0,
    )
    said = list(qdiscs.sentences(frames.capture(qdiscs=found)))
    assert said[0] == (
        "Qdisc fq_codel 8001 of eth0: 10 of 100 packets dropped (10 %); 20 marked CE (20 %); "
        "350 us in the low-latency queue (median)."
    )
    assert said[-1] == "3 more qdiscs (l4strace export qdiscs)."
    assert len(said) == qdiscs.QDISCS_SHOWN + 1


def test_nothing_is_said_without_a_log_of_tc() -> None:
    assert list(qdiscs.sentences(frames.capture())) == []
