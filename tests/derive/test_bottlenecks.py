"""Bottleneck classes on hand-made rounds: each shape of marks, delay and company."""

import polars as pl
import pytest

from l4strace.derive import bottlenecks
from tests.support.frames import MS, capture, frame, rounds, stack

PRAGUE = frame("directions", flow=0, data_ect1=1000)
CUBIC = frame("directions", flow=1, data_ect0=1000)
FLOWS = frame("flows", flow=[0, 1], client_port=[40001, 40002], mode=["accecn", "classic"])


def sawtooth(low: float, high: float, count: int = 200, period: int = 20) -> list[float]:
    """Queue delays that climb from low to high and fall, period by period."""
    return [low + (high - low) * (i % period) / period for i in range(count)]


def of(queues: list[float], flow: int = 0, **columns: object) -> pl.DataFrame:
    """Rounds whose mean RTT is 10 ms of path plus the given queue; the first one finds it empty."""
    rtt = [10_000.0 + q for q in queues]
    spread = {
        "rtt_min_us": [10_000.0, *(mean - min(100.0, mean - 10_000.0) for mean in rtt[1:])],
        "rtt_max_us": [mean + 100.0 for mean in rtt],
    }
    return rounds(len(queues), flow=flow, rtt_mean_us=rtt, **(spread | columns))


def marked_above(queues: list[float], threshold: float, packets: int = 15) -> list[int]:
    return [packets if q >= threshold else 0 for q in queues]


def verdict(flow: int = 0, **tables: pl.DataFrame) -> dict[str, object]:
    table = bottlenecks.table(capture(flows=FLOWS, **tables))
    return table.filter(pl.col("flow") == flow).row(0, named=True)


def test_step_marks_below_a_millisecond_of_a_lone_prague_flow_are_l4s() -> None:
    queues = sawtooth(200, 1100)
    row = verdict(directions=PRAGUE, rounds=of(queues, ce_best=marked_above(queues, 900)))
    assert (row["kind"], row["marking"]) == ("l4s", "step")
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
    assert verdict(0, **tables)["marking"] == "ramp"
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


def test_lone_flow_with_late_marks_is_classic_with_half_the_confidence() -> None:
    queue = sawtooth(4_000, 8_000)
    row = verdict(directions=PRAGUE, rounds=of(queue, ce_best=marked_above(queue, 7_000, 1)))
    assert (row["kind"], row["confidence"]) == ("classic", 0.5)


def test_losses_without_marks_are_a_fifo() -> None:
    queue = sawtooth(4_000, 20_000)
    lost = [1 if i % 40 == 39 else 0 for i in range(200)]
    row = verdict(directions=PRAGUE, rounds=of(queue, retransmits=lost))
    assert row["kind"] == "fifo"


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


def test_erased_codepoints_leave_the_queue_unknown() -> None:
    bleached = frame("flows", syn_ecn=1, syn_arrived_ecn=0)
    lost = [1 if i % 40 == 39 else 0 for i in range(200)]
    table = bottlenecks.table(
        capture(flows=bleached, directions=PRAGUE, rounds=of(sawtooth(0, 9_000), retransmits=lost))
    )
    assert table["kind"].to_list() == ["unknown"]
    assert "erases" in table["reason"][0]


def test_a_mangled_counter_and_marks_on_everything_leave_the_queue_unknown() -> None:
    deaf = frame("directions", data_ect1=1000, ceb_bytes=900_000, ce_fed_back_best=3)
    queue = sawtooth(4_000, 20_000)
    lost = [1 if i % 40 == 39 else 0 for i in range(200)]
    assert verdict(directions=deaf, rounds=of(queue, retransmits=lost))["kind"] == "unknown"
    every = of([100.0] * 200, ce_best=40)
    assert verdict(directions=PRAGUE, rounds=every)["kind"] == "unknown"


def test_few_packets_get_no_row() -> None:
    table = bottlenecks.table(
        capture(flows=FLOWS, directions=PRAGUE, rounds=of([0.0] * 30, acked_packets=1))
    )
    assert table.is_empty()


def test_kernel_samples_change_nothing() -> None:
    queue = sawtooth(200, 1100)
    tables = {
        "flows": FLOWS,
        "directions": PRAGUE,
        "rounds": of(queue, ce_best=marked_above(queue, 900)),
    }
    believed = frame("kernel", ts_ns=[i * MS for i in range(50)], classic_ecn=17.0)
    assert bottlenecks.table(capture(**tables)).equals(
        bottlenecks.table(capture(kernel=believed, **tables))
    )


def test_receiver_side_capture_says_nothing_about_delay() -> None:
    far = frame("flows", vantage="server")
    table = bottlenecks.table(capture(flows=far, directions=PRAGUE, rounds=of([0.0] * 100)))
    assert table.is_empty()
