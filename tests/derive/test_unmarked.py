"""What limits a flow without marks, from the features of its losses and delays."""

from __future__ import annotations

from typing import Any

import pytest

from l4strace.derive import unmarked


def features(**changed: Any) -> dict[str, Any]:
    """A flow at 20 Mbit/s that lost 12 packets in six rounds at 1 ms of queue."""
    plain = {
        "marks": 0,
        "all_marks": 0,
        "acked": 5_000,
        "lost": 12,
        "losses": 12,
        "lost_us": 1_000.0,
        "lost_rounds": 6,
        "lost_low_us": 500.0,
        "lost_high_us": 1_500.0,
        "top_us": 1_500.0,
        "path_lost": 12,
        "path_lost_rounds": 6,
        "late_share": 0.0,
        "path_queued_losses": 0.2,
        "path_lost_low_us": 500.0,
        "path_lost_us": 1_000.0,
        "path_lost_high_us": 1_500.0,
        "path_max_us": 1_500.0,
        "queue_max_us": 1_800.0,
        "queue_high_us": 1_200.0,
        "queue_delay_us": 900.0,
        "serialisation_us": 600.0,
        "noise_us": 100.0,
        "self_limited": 0.0,
        "seconds": 10.0,
        "phases": 1,
    }
    return plain | changed


def test_few_losses_without_a_queue_are_random() -> None:
    assert unmarked.idle_loss(features())
    assert unmarked.verdict(features())[0] == "none"


@pytest.mark.parametrize(
    "changed",
    [
        {"losses": 310, "lost": 310},  # a buffer that overflowed in slow start
        {"lost_us": 92_000.0, "noise_us": 95_000.0},  # noise does not explain a queue of 92 ms
        {"lost_rounds": 2},
        {"path_queued_losses": 0.98},  # a rival overflows the buffer that all share
        {"path_lost_us": 9_630.0},  # the other flows' packets are lost in a queue (s1401-027)
        {"marks": 4_000},  # an overloaded AQM drops
    ],
)
def test_losses_of_a_queue_are_not_random(changed: dict[str, Any]) -> None:
    assert not unmarked.idle_loss(features(**changed))


def test_a_flow_without_rtt_samples_has_no_verdict() -> None:
    silent = features(lost=0, losses=0, lost_us=None, queue_max_us=None, queue_high_us=None)
    assert unmarked.verdict(silent)[0] == "unknown"


def test_a_spike_of_a_flow_whose_steady_delay_is_unknown() -> None:
    spiked = features(lost=0, losses=0, lost_us=None, queue_max_us=30_000.0, queue_high_us=None)
    assert unmarked.verdict(spiked)[0] == "unknown"
    # A lab run of which one flow was left failed here: it had losses, and no RTT after its start.
    lost = features(**LEVEL | {"queue_delay_us": None}, path_max_us=99_000.0)
    assert unmarked.verdict(lost)[:2] == ("unmarked", unmarked.PARTLY)


@pytest.mark.parametrize(("high", "kind"), [(16_500.0, "unknown"), (24_000.0, "unmarked")])
def test_a_queue_without_a_mark_is_longer_than_any_aqm_lets_it_stand(
    high: float, kind: str
) -> None:
    """Lab run s1501-131: PIE, which let 16.5 ms pass, was "an unmarked queue"."""
    f = features(lost=0, losses=0, lost_us=None, queue_max_us=38_000.0, queue_high_us=high)
    assert unmarked.verdict(f)[0] == kind


def test_a_queue_that_stands_only_while_it_overflows_is_not_sure_to_mark_nothing() -> None:
    burst = features(losses=199, lost=199, lost_us=45_000.0, lost_rounds=2, path_lost_rounds=2)
    kind, confidence, _ = unmarked.verdict(burst)
    assert (kind, confidence) == ("unmarked", unmarked.PARTLY)
    standing = burst | {"queue_delay_us": 30_000.0}
    assert unmarked.verdict(standing)[1] == unmarked.SEEN_BY_OTHERS


LEVEL: dict[str, Any] = {
    "lost_us": 50_000.0,
    "lost_low_us": 49_000.0,
    "lost_high_us": 51_000.0,
    "path_lost_us": 50_000.0,
    "path_lost_low_us": 49_000.0,
    "path_lost_high_us": 51_000.0,
    "queue_delay_us": 30_000.0,
    "queue_high_us": 45_000.0,
    "top_us": 51_000.0,
}


def test_losses_at_the_largest_delay_of_the_path_are_a_full_buffer() -> None:
    assert unmarked.verdict(features(**LEVEL, path_max_us=51_000.0))[0] == "fifo"


def test_codel_drops_at_an_even_height_below_the_slow_start_that_it_let_through() -> None:
    """Three runs of the lab behind CoDel without ECN were called FIFO with high confidence."""
    assert unmarked.verdict(features(**LEVEL, path_max_us=99_000.0))[0] == "unmarked"


def test_single_losses_at_the_largest_delay_are_not_a_full_buffer() -> None:
    """Two runs behind CoDel and fq_codel without ECN lost one packet at a time, at one height."""
    single = features(**LEVEL, path_max_us=51_000.0, path_lost=6)
    assert unmarked.verdict(single)[0] == "unmarked"


@pytest.mark.parametrize(
    "changed",
    [
        {"path_lost_low_us": 34_000.0},  # another flow lost packets far below
        {"path_lost": 7},  # one at a time, as CoDel drops them
        {"lost_rounds": 4, "path_lost_rounds": 4},  # one overflow
    ],
)
def test_what_a_fifo_does_not_do(changed: dict[str, Any]) -> None:
    """Lab run s1501-090: fq_codel without ECN, 19 packets lost at 18.2 ms, 20 at 15 to 22 ms."""
    full = features(**LEVEL | changed, path_max_us=51_000.0)
    assert unmarked.verdict(full)[0] == "unmarked"


DROPPED = {"lost_us": 16_000.0, "lost_low_us": 9_000.0, "lost_high_us": 24_000.0}
DROPPED |= {f"path_{name}": value for name, value in DROPPED.items()}
DROPPED |= {"top_us": 47_000.0, "path_max_us": 60_000.0, "lost_rounds": 20, "queue_high_us": 4e4}


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({}, "dropping"),
        ({"path_lost_high_us": 58_000.0}, "unmarked"),  # another flow found the buffer full
        ({"phases": 2}, "unmarked"),  # lab run s1301-082: a FIFO of two rates
        ({"lost_low_us": 900.0}, "unmarked"),  # lab run s1401-049: random losses, too
    ],
)
def test_an_aqm_drops_with_a_queue_and_long_before_the_buffer_is_full(
    changed: dict[str, Any], kind: str
) -> None:
    assert unmarked.verdict(features(**DROPPED | changed))[0] == kind


def test_a_few_retransmissions_among_late_packets_are_no_losses() -> None:
    """Lab run s1401-094: 2 of 10,000 packets that arrived late were sent again."""
    late = features(**LEVEL, late_share=0.67) | {"queue_high_us": 6_000.0}
    assert unmarked.verdict(late)[0] == "unmarked"
    assert unmarked.verdict(late | {"lost_rounds": 1})[0] == "unknown"


def test_losses_of_a_queue_that_hardly_stands_may_be_random() -> None:
    """Lab run s1301-141: fq_codel with ECN, losses at random, five of one flow at 4.4 ms."""
    few = {"lost_us": 4_400.0, "lost_low_us": 600.0, "lost_high_us": 9_000.0}
    f = features(**few, queue_high_us=400.0)
    assert unmarked.verdict(f)[0] == "unknown"
    assert unmarked.verdict(f | {"losses": 900})[0] == "unmarked"


def test_retransmissions_of_late_packets_show_no_full_buffer() -> None:
    """Lab run s801-053: 70 % of the packets arrived late, and 10 were dropped."""
    kind, confidence, reason = unmarked.verdict(
        features(**LEVEL, path_max_us=51_000.0, late_share=0.7)
    )
    assert (kind, confidence) == ("unmarked", unmarked.PARTLY)
    assert "70.0 % of the packets arrive late" in reason


def test_drops_of_a_fifth_leave_open_whether_the_aqm_has_ecn() -> None:
    """Lab run s1401-016: PIE with ECN, whose drop probability stayed above its limit for marks."""
    below = {"lost_us": 6_000.0, "lost_low_us": 4_000.0, "lost_high_us": 22_000.0}
    below |= {"queue_high_us": 30_000.0}
    below |= {f"path_{name}": value for name, value in below.items()}
    below |= {"top_us": 47_000.0, "path_max_us": 370_000.0, "lost_rounds": 70, "losses": 900}
    kind, _, reason = unmarked.verdict(features(**below, lost=1_250))
    assert kind == "unknown"
    assert "20 % of the packets" in reason
    assert unmarked.verdict(features(**below, lost=800))[0] == "dropping"
    short = {"lost_us": 2_500.0, "queue_high_us": 20_000.0, "losses": 900}
    assert unmarked.verdict(features(**short, lost=1_250))[0] == "unknown"
    assert unmarked.verdict(features(**short, lost=800))[0] == "unmarked"


def test_retransmissions_of_late_packets_are_not_losses_at_random() -> None:
    """Run s1501-032: "loses at random", where no packet was lost and 7 % arrived late."""
    assert unmarked.verdict(features())[2].endswith("the path loses at random.")
    kind, _, reason = unmarked.verdict(features(late_share=0.07))
    assert kind == "none"
    assert reason.endswith("7.0 % of the packets arrive late, so some may not be lost.")


def test_what_fills_behind_erased_codepoints_is_a_queue_without_marks() -> None:
    """Lab run s2001-090: PIE that marks, and a path that erases the marks behind it."""
    deep = {"lost_us": 31_000.0, "lost_low_us": 30_000.0, "queue_delay_us": 20_000.0}
    kind, confidence, reason = unmarked.erased(features(**deep))
    assert (kind, confidence) == ("unmarked", unmarked.OWN_MARKS)
    assert "erases" in reason
    assert unmarked.erased(features())[0] == "unknown"


def flat(**changed: Any) -> dict[str, Any]:
    """A flow that waits for nothing on a path that marks and loses nothing."""
    quiet = {"lost": 0, "losses": 0, "lost_us": None, "path_lost_us": None, "path_acked": 10_000}
    seen = {"path_marks": 0, "seen_marks": 0, "path_losses": 0, "seen_losses": 0}
    return features(**quiet | seen | changed)


def test_nothing_queues_where_no_flow_of_the_path_shows_a_queue() -> None:
    assert unmarked.verdict(flat())[:2] == ("none", unmarked.NOTHING_THERE)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        # Simulated run s9401-031: a short buffer drops the packets of the other flow.
        ({"path_losses": 52}, "52 packets retransmitted on the same path"),
        # Simulated run s9401-064: the sender's capture began late, the receiver's has the marks.
        ({"seen_marks": 54}, "54 packets marked on the same path"),
        ({"path_marks": 30, "seen_losses": 30}, "30 packets marked and 30 packets retransmitted"),
    ],
)
def test_what_others_lose_or_have_marked_contradicts_a_path_without_queue(
    changed: dict[str, Any], words: str
) -> None:
    kind, confidence, reason = unmarked.verdict(flat(**changed))
    assert (kind, confidence) == ("unknown", unmarked.NO_VERDICT)
    assert words in reason


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"path_losses": 5}, "of the path's 10,000 packets only 5 packets retransmitted"),
        ({"path_losses": 52, "path_lost_us": 300.0}, "lost at random"),
    ],
)
def test_few_or_random_losses_make_no_queue_less_certain(
    changed: dict[str, Any], words: str
) -> None:
    kind, confidence, reason = unmarked.verdict(flat(**changed))
    assert (kind, confidence) == ("none", unmarked.PARTLY)
    assert words in reason
