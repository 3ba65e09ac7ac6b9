"""Bottleneck classes on hand-made rounds: each shape of marks, delay and neighbors."""

import random

import polars as pl
import pytest

from l4strace.bottleneck import table as room
from l4strace.schema.words import CLASSIC_OR_PER_FLOW
from tests.support.frames import MS, capture, frame, rounds, stack
from tests.support.queues import CUBIC, FLOWS, PRAGUE, marked_above, of, sawtooth, verdict

LOST = [2 if i % 40 == 39 else 0 for i in range(200)]
"""Two packets at each peak of a sawtooth."""


def test_step_marks_below_a_millisecond_of_a_lone_prague_flow_are_l4s() -> None:
    queues = sawtooth(200, 1100)
    row = verdict(directions=PRAGUE, rounds=of(queues, ce_best=marked_above(queues, 900)))
    assert row["kind"] == "l4s"
    assert row["marking_delay_us"] == pytest.approx(920, abs=60)


def both(
    own: list[float], other: list[float], marks: list[int], echoes: list[int]
) -> dict[str, object]:
    return {
        "directions": stack(PRAGUE, CUBIC),
        "rounds": stack(of(own, ce_best=marks), of(other, flow=1, ce_best=None, ece_acks=echoes)),
    }


def test_classic_flow_in_a_long_queue_of_its_own_proves_two_queues() -> None:
    own, other = sawtooth(200, 600), sawtooth(8_000, 16_000)
    tables = both(own, other, marked_above(own, 300, 2), marked_above(other, 15_000, 1))
    assert verdict(0, **tables)["kind"] == "l4s"
    assert verdict(1, **tables)["kind"] == "l4s"


def test_same_short_delay_and_marks_for_classic_flows_is_a_shallow_shared_queue() -> None:
    queue = sawtooth(200, 1200)
    tables = both(queue, queue, marked_above(queue, 900), marked_above(queue, 900, 1))
    assert verdict(0, **tables)["kind"] == "shallow"
    assert verdict(1, **tables)["kind"] == "shallow"


def test_shared_delay_with_marks_at_milliseconds_is_one_classic_queue() -> None:
    queue = sawtooth(4_000, 8_000)
    tables = both(queue, queue, marked_above(queue, 7_000, 1), marked_above(queue, 7_000, 1))
    row = verdict(0, **tables)
    assert row["kind"] == "classic"
    assert row["confidence"] >= 0.9


def test_delays_that_move_apart_are_per_flow_queues() -> None:
    own, other = sawtooth(4_000, 8_000, period=20), sawtooth(4_000, 8_000, period=34)
    tables = both(own, other, marked_above(own, 7_000, 1), marked_above(other, 7_000, 1))
    assert verdict(0, **tables)["kind"] == "per-flow"


def test_late_marks_of_a_lone_flow_leave_open_whether_the_queue_is_shared() -> None:
    queue = sawtooth(4_000, 8_000)
    row = verdict(directions=PRAGUE, rounds=of(queue, ce_best=marked_above(queue, 7_000, 1)))
    assert (row["kind"], row["confidence"]) == (CLASSIC_OR_PER_FLOW, 0.7)


def test_flat_rtt_is_no_bottleneck() -> None:
    assert verdict(directions=PRAGUE, rounds=of([200.0] * 200))["kind"] == "none"


def test_late_marks_at_a_low_rate_are_still_l4s() -> None:
    """At 4 Mbit/s one packet takes 3 ms: the queue cannot be shorter."""
    queue = sawtooth(0, 4_500)
    row = verdict(
        directions=PRAGUE,
        rounds=of(queue, acked_packets=3, acked_bytes=5_000, ce_best=marked_above(queue, 2_800, 1)),
    )
    assert row["kind"] == "l4s"


def test_a_queue_behind_a_path_that_erases_codepoints_is_unmarked() -> None:
    bleached = frame("flows", syn_ecn=1, syn_arrived_ecn=0)
    made = of(sawtooth(0, 9_000), retransmits=LOST)
    table = room.bottlenecks(capture(flows=bleached, directions=PRAGUE, rounds=made))
    assert table["kind"].to_list() == ["unmarked"]
    assert "erases" in table["reason"][0]


def test_a_mangled_counter_and_marks_on_everything_leave_the_queue_unknown() -> None:
    deaf = frame("directions", data_ect1=1000, ceb_bytes=900_000, ce_fed_back_hi=3)
    queue = sawtooth(4_000, 20_000)
    assert verdict(directions=deaf, rounds=of(queue, retransmits=LOST))["kind"] == "unknown"
    every = of([100.0] * 200, ce_best=40)
    assert verdict(directions=PRAGUE, rounds=every)["kind"] == "unknown"


def test_a_path_that_zeroes_ace_zeroes_ece_too() -> None:
    """Lab run s1501-010: "AQM without ECN", and the marks of the flow were cleared with the ACE."""
    queue = sawtooth(4_000, 20_000)
    zeroed = frame("directions", data_ect1=1000, ceb_bytes=900_000, ce_fed_back_hi=3)
    made = stack(of(queue), of(queue, flow=1, ce_best=None, ece_acks=0, retransmits=LOST))
    row = verdict(1, directions=stack(zeroed, CUBIC), rounds=made)
    assert (row["kind"], row["reason"]) == (
        "unknown",
        "The path mangles the feedback, so marks cannot be seen round by round.",
    )
    sound = verdict(1, directions=stack(PRAGUE, CUBIC), rounds=made)
    assert sound["kind"] == "fifo"


def test_few_packets_get_no_row() -> None:
    few = of([0.0] * 30, acked_packets=1)
    assert room.bottlenecks(capture(flows=FLOWS, directions=PRAGUE, rounds=few)).is_empty()


def test_kernel_samples_change_nothing() -> None:
    queue = sawtooth(200, 1100)
    made = of(queue, ce_best=marked_above(queue, 900))
    tables = {"flows": FLOWS, "directions": PRAGUE, "rounds": made}
    believed = frame("kernel", ts_ns=[i * MS for i in range(50)], classic_ecn=17.0)
    told = room.bottlenecks(capture(kernel=believed, **tables))
    assert told.equals(room.bottlenecks(capture(**tables)))


def test_receiver_side_capture_says_nothing_about_delay() -> None:
    far = frame("flows", vantage="server")
    table = room.bottlenecks(capture(flows=far, directions=PRAGUE, rounds=of([0.0] * 100)))
    assert table.is_empty()


def noisy(queues: list[float], shift: float, spread: float, **columns: object) -> pl.DataFrame:
    """Jitter that keeps the order: every packet is late by `shift`, packets differ by `spread`."""
    rtt = [10_000.0, *(10_000.0 + q + shift for q in queues[1:])]
    marked = [10_000.0 + q + shift for q in queues]
    return rounds(
        len(queues),
        rtt_min_us=rtt,
        rtt_mean_us=[low + spread / 2 for low in rtt],
        rtt_max_us=[low + spread for low in rtt],
        marked_rtt_min_us=marked,
        **columns,
    )


@pytest.mark.parametrize(("shift", "spread"), [(2_500.0, 2_200.0), (5_500.0, 4_400.0)])
def test_jitter_that_keeps_the_order_hides_the_queue(shift: float, spread: float) -> None:
    queues = sawtooth(200, 1100)
    marks = marked_above(queues, 900)
    start = [queues[0], 30_000.0, *queues[2:]]
    row = verdict(directions=PRAGUE, rounds=noisy(start, shift, spread, ce_best=marks))
    assert row["kind"] == "unknown"
    assert "hides a queue" in str(row["reason"])
    # No classic AQM stops slow start at what jitter adds.
    row = verdict(directions=PRAGUE, rounds=noisy(queues, shift, spread, ce_best=marks))
    assert (row["kind"], row["confidence"]) == ("l4s", 0.6)


def test_marks_beyond_what_jitter_adds_are_still_classic() -> None:
    queues = sawtooth(18_000, 25_000)
    row = verdict(
        directions=PRAGUE, rounds=noisy(queues, 2_500, 2_200, ce_best=marked_above(queues, 20_000))
    )
    assert row["kind"] == CLASSIC_OR_PER_FLOW


def test_slots_move_the_mean_and_not_the_first_marked_packet() -> None:
    """Released every 8 ms: the round means stand 4 ms high, the first marked packet at 1 ms."""
    queues = sawtooth(200, 1100)
    table = noisy(queues, 0.0, 8_000.0, ce_best=marked_above(queues, 900))
    row = verdict(directions=PRAGUE, rounds=table)
    assert row["kind"] == "l4s"
    assert row["marking_delay_us"] == pytest.approx(920, abs=60)


def test_marking_delay_comes_from_the_marked_packets_not_from_round_means() -> None:
    """A step at 1 ms: rounds with marks have a mean of 0.4 ms, the marked ACKs 1.02 ms."""
    table = of([400.0] * 200, ce_best=[3 if i % 5 == 0 else 0 for i in range(200)])
    table = table.with_columns(marked_rtt_min_us=pl.lit(11_020.0))
    row = verdict(directions=PRAGUE, rounds=table)
    assert row["marking_delay_us"] == pytest.approx(1_020)


def test_one_way_delay_of_the_marked_packets_counts_where_both_ends_are_there() -> None:
    """The ACK path adds 6 ms to the RTT; the marks came at 0.9 ms on the way there."""
    queues = sawtooth(200, 1100)
    there = {"owd_min_us": 0.0, "owd_max_us": 900.0, "marked_owd_min_us": 900.0}
    table = noisy(queues, 6_000, 4_400, ce_best=marked_above(queues, 900), **there)
    paths = frame("paths", near=0, far=1, marked_owd_p10_us=900.0, marked_owd_median_us=1_000.0)
    row = verdict(directions=PRAGUE, rounds=table, paths=paths)
    assert (row["kind"], row["marking_delay_us"]) == ("l4s", 900.0)


def late(smallest_us: float, queue_us: float, later_us: float, **columns: int) -> pl.DataFrame:
    """Verdict on a capture that began late; marks come ``later_us`` above their round's RTT."""
    rtt = [smallest_us, *(smallest_us + queue_us + 100.0 * (i % 20) for i in range(1, 200))]
    seen = dict.fromkeys(("rtt_min_us", "rtt_mean_us", "rtt_max_us"), rtt)
    seen |= {"marked_rtt_min_us": [low + later_us for low in rtt]}
    made = rounds(200, ce_best=[int(i % 10 == 9) for i in range(200)], **seen, **columns)
    flows = FLOWS.with_columns(handshake=pl.lit("none"))
    return room.bottlenecks(capture(flows=flows, directions=PRAGUE, rounds=made))


def test_a_late_capture_that_never_saw_the_queue_empty_does_not_name_an_l4s_aqm() -> None:
    """CoDel from the middle: the smallest RTT already holds 5 ms, marks come 1 ms above it."""
    found = late(14_000.0, 600.0, 100.0)
    assert found["kind"].to_list() == ["unknown"]
    assert "began late" in found["reason"][0]


def test_two_flows_without_ect1_in_a_classic_queue_are_not_a_shallow_aqm() -> None:
    """The first marks come early, most of them at 12 ms."""
    both_classic = frame("directions", flow=[0, 1], data_ect0=1000)
    queue = sawtooth(0, 14_000)
    early = [1 if q >= 12_000 or i % 120 == 1 else 0 for i, q in enumerate(queue)]
    table = stack(
        of(queue, ce_best=None, ece_acks=early), of(queue, flow=1, ce_best=None, ece_acks=early)
    )
    assert verdict(0, directions=both_classic, rounds=table)["kind"] == "classic"


def test_low_marks_for_both_flows_in_queues_that_move_apart_prove_no_l4s_aqm() -> None:
    """fq_codel with ce_threshold: both are marked at 1 ms, each in its own queue."""
    own, other = sawtooth(200, 1200, period=20), sawtooth(200, 1200, period=34)
    tables = both(own, other, marked_above(own, 900), marked_above(other, 900, 1))
    assert float(str(verdict(0, **tables)["confidence"])) <= 0.6


def lossy(queues: list[float], at: list[int], packets: int = 1) -> pl.DataFrame:
    lost = [packets if i in at else 0 for i in range(len(queues))]
    return of(queues, retransmits=lost)


@pytest.mark.parametrize(
    ("low", "high", "lost", "packets", "kind"),
    [
        (4_000, 20_000, [39, 59, 99, 139, 179], 2, "fifo"),
        # Four rounds may be one overflow.
        (4_000, 20_000, [59, 99, 139, 179], 2, "unmarked"),
        # One packet at a time is what CoDel drops.
        (4_000, 20_000, [39, 59, 99, 139, 179], 1, "unmarked"),
        (4_000, 20_000, [43, 66, 84, 103, 108, 123, 143, 166, 186], 1, "dropping"),
        # A few delays are what a FIFO of changing rate gives.
        (4_000, 20_000, [43, 66, 103, 108], 1, "unmarked"),
        (4_000, 20_000, [99], 1, "unmarked"),
        (50, 300, [59, 99, 139], 1, "none"),
    ],
)
def test_losses_without_marks_by_the_queue_at_which_they_come(
    low: float, high: float, lost: list[int], packets: int, kind: str
) -> None:
    row = verdict(directions=PRAGUE, rounds=lossy(sawtooth(low, high), lost, packets))
    assert row["kind"] == kind
    assert row["idle_loss"] is (kind == "none")


def test_a_slow_start_queue_of_200_ms_is_not_no_bottleneck() -> None:
    queue = [200_000.0 if 3 <= i < 8 else 50.0 for i in range(200)]
    row = verdict(directions=PRAGUE, rounds=of(queue))
    assert row["kind"] == "unknown"
    standing = verdict(directions=PRAGUE, rounds=of([20_000.0 + q for q in queue[1:]]))
    assert standing["kind"] == "unmarked"
    assert "20.1 ms" in str(standing["reason"])


def test_jitter_is_no_sign_of_a_queue_per_flow() -> None:
    """Queues that swing by 1 ms under 4 ms of jitter: whether they move together cannot show."""
    rng = random.Random(2)
    queues = sawtooth(20_000, 21_000)
    tables = []
    for flow in (0, 1):
        shaken = [q + rng.uniform(0, 4_000) for q in queues]
        spread = {"rtt_max_us": [10_000.0 + q + 4_400 for q in shaken]}
        marks = marked_above(queues, 20_600, 1)
        tables.append(of(shaken, flow=flow, ce_best=marks, **spread))
    row = verdict(directions=stack(PRAGUE, CUBIC), rounds=stack(*tables))
    assert row["kind"] == "unknown"
    assert "neither one queue nor a queue each" in str(row["reason"])


def test_a_late_capture_whose_smallest_rtt_is_short_hides_no_queue() -> None:
    """1.2 ms of RTT at 4 Mbit/s: the queue in it is below the border of 6.8 ms all the same."""
    found = late(1_200.0, 400.0, 0.0, acked_packets=3, acked_bytes=5_000)
    assert found["kind"].to_list() == ["l4s"]


def test_marks_of_the_start_name_the_step_where_the_queue_is_empty_afterwards() -> None:
    queue = [*sawtooth(0, 1_100, 10, 10), *[50.0] * 190]
    row = verdict(directions=PRAGUE, rounds=of(queue, ce_best=marked_above(queue, 900)))
    assert (row["kind"], row["confidence"]) == ("l4s", 0.6)


def test_a_flow_of_few_round_trips_takes_the_kind_of_its_path() -> None:
    queues = sawtooth(200, 1100)
    steps = of(queues, ce_best=marked_above(queues, 900))
    few = of([500.0] * 8, flow=1, ce_best=None, ece_acks=0, acked_packets=50)
    for made, found in ((stack(steps, few), ("l4s", 0.6)), (few, ("unknown", 0.0))):
        row = verdict(1, directions=stack(PRAGUE, CUBIC), rounds=made)
        assert (row["kind"], row["confidence"], row["queue_delay_us"]) == (*found, 500.0)
