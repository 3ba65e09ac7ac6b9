"""The largest delay of a round, and what is no delay of the path."""

import polars as pl
import pytest

from l4strace.derive import delays, neighbors
from l4strace.derive.measured import measured
from tests.support.frames import capture, frame, rounds, stack

FLOWS = frame("flows", flow=[0, 1])
DIRECTIONS = frame("directions", flow=[0, 1])
CALM = 10_400.0
WHICH = ("min", "mean", "max")


def delay(made: pl.DataFrame, directions: pl.DataFrame | None = None) -> list[float]:
    of = DIRECTIONS if directions is None else directions
    return shown(made, of).filter(flow=0)["delay_us"].to_list()


def shown(made: pl.DataFrame, directions: pl.DataFrame = DIRECTIONS) -> pl.DataFrame:
    run = capture(flows=FLOWS, directions=directions, rounds=made)
    found = pl.DataFrame(measured(run).delays(delays.known(run)))
    return neighbors.directions(run).select("flow")[found["of"]].hstack(found)


def alike(rtts_us: float | list[float]) -> dict[str, object]:
    """Rounds all of whose packets have the same RTT."""
    return dict.fromkeys(("rtt_min_us", "rtt_mean_us", "rtt_max_us"), rtts_us)


def one(round_: int, value: float, rest: float = CALM, count: int = 50) -> list[float]:
    return [value if n == round_ else rest for n in range(count)]


def test_the_height_is_the_largest_and_not_the_mean() -> None:
    """25 ms of mean for 222 ms at the top was once reported."""
    seen = {"rtt_mean_us": one(20, 35_000.0), "rtt_max_us": one(20, 232_000.0, 10_800.0)}
    made = rounds(50, rtt_samples=100, **seen)
    assert max(delay(made)) == 222_000.0


def test_one_delayed_ack_is_no_delay() -> None:
    """40 ms once among 20 samples at 10.0 ms."""
    made = rounds(
        50,
        rtt_samples=20,
        rtt_mean_us=one(20, (19 * 10_000.0 + 50_000.0) / 20, 10_000.0),
        rtt_max_us=one(20, 50_000.0, 10_000.0),
    )
    assert max(delay(made)) == pytest.approx(0.0, abs=1.0)


def test_a_lone_sample_counts_where_the_rounds_beside_it_wait_too() -> None:
    wait = [10_000.0] * 20 + [48_000.0, 60_000.0, 30_000.0] + [10_000.0] * 27
    made = rounds(50, rtt_samples=1, **alike(wait))
    assert max(delay(made)) == 50_000.0
    single = one(20, 60_000.0, 10_000.0)
    made = rounds(50, rtt_samples=1, **alike(single))
    assert max(delay(made)) == 0.0


def test_delayed_acks_in_rounds_of_few_samples_do_not_bear_each_other_out() -> None:
    """Lab run s1101-157: 40 ms in three rounds running, each with a packet that did not wait."""
    late, counts = {20: 50_000.0, 21: 52_000.0, 22: 90_000.0}, {20: 2, 21: 4, 22: 2}
    made = rounds(
        50,
        rtt_samples=[counts.get(n, 4) for n in range(50)],
        rtt_min_us=10_000.0,
        rtt_mean_us=[1e4 + (late.get(n, 1e4) - 1e4) / counts.get(n, 4) for n in range(50)],
        rtt_max_us=[late.get(n, 10_000.0) for n in range(50)],
    )
    assert max(delay(made)) == pytest.approx(0.0, abs=1.0)


def test_a_round_without_a_sample_has_no_delay() -> None:
    """Lab run s1201-115: it got that of the delayed ACK in the round beside it."""
    mean = [10_000.0] * 21 + [69_000.0] + [10_000.0] * 28
    made = rounds(50, rtt_samples=1, **alike(mean))
    there = pl.col("round") != 20
    columns = [pl.when(there).then(f"rtt_{which}_us").alias(f"rtt_{which}_us") for which in WHICH]
    samples = pl.when(there).then("rtt_samples").otherwise(0).alias("rtt_samples")
    shown = delay(made.with_columns(*columns, samples.cast(pl.UInt32)))
    assert shown[19:23] == [0.0, None, 0.0, 0.0]


def test_a_lone_delayed_ack_does_not_bear_out_another() -> None:
    """Lab run s1201-030: 58 ms were said, behind 0.6 ms of queue."""
    late = {20: 70_000.0, 21: 68_000.0}
    made = rounds(
        50,
        rtt_samples=[2 if n == 21 else 1 for n in range(50)],
        rtt_min_us=[70_000.0 if n == 20 else 10_000.0 for n in range(50)],
        rtt_mean_us=[{20: 70_000.0, 21: 39_000.0}.get(n, 10_000.0) for n in range(50)],
        rtt_max_us=[late.get(n, 10_000.0) for n in range(50)],
    )
    assert max(delay(made)) == pytest.approx(0.0, abs=1.0)


def test_behind_a_loss_sack_shows_the_delay() -> None:
    """Neither lone RTTs nor the round of the repair, which has none, know it."""
    lost = [0] * 20 + [3, 0] + [0] * 28
    sacked = [None] * 20 + [222_000.0, 90_000.0] + [None] * 28
    made = rounds(50, rtt_samples=1, rtt_mean_us=CALM, rtt_max_us=CALM, retransmits=lost)
    shown = delay(made.with_columns(pl.Series("sacked_rtt_max_us", sacked)))
    assert shown[20:22] == [pytest.approx(222_000.0 - 10_000.0), pytest.approx(80_000.0)]


@pytest.mark.parametrize(("beside", "height"), [(None, 9_000.0), (90_000.0, 83_000.0)])
def test_sack_of_a_super_packet_may_have_waited_for_its_repair(
    beside: float | None, height: float
) -> None:
    """Lab run s1401-024: 83 ms where the queue held 21 ms."""
    most = [None] * 20 + [93_000.0, beside] + [None] * 28
    least = [None] * 20 + [19_000.0, beside] + [None] * 28
    made = rounds(50, rtt_samples=1, rtt_mean_us=CALM, rtt_max_us=CALM, retransmits=[3] * 50)
    samples = {"sacked_rtt_min_us": least, "sacked_rtt_max_us": most}
    made = made.with_columns(pl.Series(name, values) for name, values in samples.items())
    merged = DIRECTIONS.with_columns(super_packets=pl.lit(900, DIRECTIONS.schema["super_packets"]))
    assert delay(made, directions=merged)[20] == pytest.approx(height)


def test_an_ack_that_waited_for_a_retransmission_is_no_delay() -> None:
    """Three ACKs around the repair show 100 ms more; with 30 samples SACK shows each packet."""
    waited = [10_000.0] * 20 + [110_000.0] * 3 + [10_000.0] * 27
    lost = [0] * 21 + [1] + [0] * 28
    columns = {"rtt_mean_us": waited, "rtt_max_us": waited, "retransmits": lost}
    held = delay(rounds(50, rtt_samples=1, **columns))
    assert held[20:22] == [None, None]
    assert max(delay(rounds(50, rtt_samples=30, **columns))) == 100_000.0


def test_an_ack_delayed_in_a_standing_queue_does_not_add_to_it() -> None:
    """63 ms of queue, and one of two ACKs 44 ms later."""
    mean = [10_000.0] + [73_000.0] * 19 + [95_000.0] + [73_000.0] * 29
    most = [10_000.0] + [73_000.0] * 19 + [117_000.0] + [73_000.0] * 29
    least = [10_000.0] + [73_000.0] * 49
    made = rounds(50, rtt_samples=2, rtt_min_us=least, rtt_mean_us=mean, rtt_max_us=most)
    assert max(delay(made)) == pytest.approx(63_000.0)


def test_the_last_packet_of_an_odd_burst_waits_for_its_ack_in_a_queue_too() -> None:
    """Lab run s1401-037: 98 ms beside 41 to 54 ms; that ACK came 60 ms after the one before."""
    queue = {"min": 162_700.0, "mean": 184_300.0, "max": 234_100.0}
    seen = {f"rtt_{name}_us": one(20, value, 135_800.0) for name, value in queue.items()}
    held = rounds(50, rtt_samples=8, **seen)
    assert max(delay(held)) == pytest.approx(98_300.0), "nothing shows which ACK was held"
    prompt = rounds(50, rtt_samples=8, rtt_prompt_max_us=one(20, 189_900.0, 135_800.0), **seen)
    assert max(delay(prompt)) == pytest.approx(54_100.0)


def test_an_ack_that_was_held_bears_out_no_other() -> None:
    """Lab run s1401-041: 120 ms alone in its round, and 119 beside a prompt ACK in the next."""
    made = rounds(
        50,
        rtt_samples=one(21, 2, 1),
        rtt_mean_us=[{20: 120_000.0, 21: 94_500.0}.get(n, 70_000.0) for n in range(50)],
        rtt_max_us=[{20: 120_000.0, 21: 119_000.0}.get(n, 70_000.0) for n in range(50)],
        rtt_min_us=one(20, 120_000.0, 70_000.0),
        rtt_prompt_max_us=[None if n == 20 else 70_000.0 for n in range(50)],
    )
    assert max(delay(made)) == 0.0


def test_lone_acks_that_may_have_waited_do_not_bear_each_other_out() -> None:
    """Lab run s1501-148: two delayed ACKs running, each alone; 124 ms were reported for 40 ms."""
    late = {20: 205_000.0, 21: 202_000.0}
    wait = [late.get(n, 30_000.0 if n == 22 else 10_000.0) for n in range(50)]
    made = rounds(
        50,
        sent_packets=2,
        acked_packets=[1 if n in late else 2 for n in range(50)],
        rtt_samples=1,
        **alike(wait),
        rtt_prompt_max_us=[None if n in late else wait[n] for n in range(50)],
    )
    shown = delay(made)
    assert shown[20:22] == [0.0, 20_000.0], "no more than the rounds beside them"


def test_two_delayed_acks_of_one_round_bear_out_neither_each_other_nor_the_round_before() -> None:
    """Simulated run s5519-021: a flow of two packets, each ACK 40 ms late for two round trips."""
    late = {20: 49_000.0, 21: 50_000.0}
    wait = [late.get(n, 10_000.0) for n in range(50)]
    made = rounds(
        50,
        sent_packets=2,
        acked_packets=[1 if n == 20 else 2 for n in range(50)],
        rtt_samples=[2 if n == 21 else 1 for n in range(50)],
        rtt_min_us=[48_500.0 if n == 21 else us for n, us in enumerate(wait)],
        rtt_mean_us=[49_250.0 if n == 21 else us for n, us in enumerate(wait)],
        rtt_max_us=wait,
        rtt_prompt_max_us=[None if n in late else wait[n] for n in range(50)],
    )
    assert max(us or 0.0 for us in delay(made)) == 0.0
    asked = made.with_columns(pl.col("acked_packets").replace_strict({1: 4, 2: 4}).cast(pl.UInt32))
    assert max(us or 0.0 for us in delay(asked)) > 30_000.0, "ACKs of two packets wait for none"


def test_a_round_with_two_delayed_acks_bears_out_none_of_those_before() -> None:
    """Simulated run s7351-059: one ACK of three came at once, and 40 ms were reported."""
    late = {20: 50_000.0, 21: 50_200.0}
    wait = [late.get(n, 10_000.0) for n in range(50)]
    made = rounds(
        50,
        sent_packets=4,
        acked_packets=[2 if n == 20 else 4 for n in range(50)],
        rtt_samples=[3 if n == 21 else 2 for n in range(50)],
        rtt_min_us=[50_000.0 if n == 20 else 10_000.0 for n in range(50)],
        rtt_mean_us=[{20: 50_000.0, 21: 36_700.0}.get(n, 10_000.0) for n in range(50)],
        rtt_max_us=wait,
        rtt_prompt_max_us=[None if n == 20 else 10_100.0 for n in range(50)],
    )
    assert max(us or 0.0 for us in delay(made)) < 1_000.0


def test_two_samples_of_prompt_acks_bear_each_other_out() -> None:
    """Lab run s1401-083: 66 ms were reported for 79 ms where the link became slower."""
    made = rounds(
        50,
        rtt_samples=2,
        rtt_min_us=one(20, 71_000.0, 10_000.0),
        rtt_mean_us=one(20, 77_500.0, 10_000.0),
        rtt_max_us=one(20, 84_000.0, 10_000.0),
        rtt_prompt_max_us=one(20, 84_000.0, 10_000.0),
    )
    assert max(delay(made)) == pytest.approx(74_000.0)


def test_one_late_sample_among_many_is_no_delay() -> None:
    """Lab run s1501-032: 19 ms once among 279 samples, whose 0.3 ms added up to more."""
    most = one(20, 29_300.0, 10_700.0)
    made = rounds(50, rtt_samples=279, rtt_mean_us=10_300.0, rtt_max_us=most)
    assert max(delay(made)) < 1_000.0


def test_an_ack_behind_packets_that_were_overtaken_is_no_delay() -> None:
    """Lab run s1301-074: 27 ms were reported where SACK shows 1 ms, without a retransmission."""
    late = {20: 60_000.0, 21: 55_000.0, 22: 50_000.0}
    wait = [late.get(n, 10_000.0) for n in range(50)]
    made = rounds(50, rtt_samples=1, rtt_min_us=10_000.0, rtt_mean_us=wait, rtt_max_us=wait)
    sacked = [11_000.0 if n in late else None for n in range(50)]
    assert max(delay(made.with_columns(pl.Series("sacked_rtt_max_us", sacked)))) == 1_000.0


def test_rounds_of_one_packet_that_the_application_sends_do_not_count() -> None:
    """Each of them waits for a delayed ACK."""
    slow = [10_000.0] * 25 + [50_000.0] * 25
    single = {"rtt_samples": 1, "sent_packets": 1, "acked_packets": 1, "limited_by": "app"}
    assert delay(rounds(50, **single, **alike(slow))) == []


def test_the_one_way_delay_comes_first() -> None:
    made = rounds(
        50, owd_min_us=100.0, owd_mean_us=one(20, 30_000.0, 200.0), owd_max_us=one(20, 72_000, 300)
    )
    assert max(delay(made)) == 71_900.0


def test_the_one_way_delay_counts_by_the_packets_sent() -> None:
    """Lab run s1501-023: 10 packets left in the round of the first ACK; 76 ms for 204 ms."""
    made = rounds(
        50,
        sent_packets=10,
        acked_packets=one(20, 1, 10),
        owd_min_us=100.0,
        owd_mean_us=one(20, 90_000.0, 200.0),
        owd_max_us=one(20, 204_000.0, 300.0),
    )
    assert max(delay(made)) == pytest.approx(203_900.0)


def test_packets_that_overtook_others_are_no_empty_path() -> None:
    """Lab runs s1501-033, 055 and 097: they skip 37 ms, which all others then seem to wait."""
    skipped = one(30, 100.0, 37_500.0)
    made = rounds(
        50,
        sent_packets=30,
        rtt_min_us=one(30, 37_500.0, 75_000.0),
        rtt_mean_us=75_500.0,
        rtt_max_us=76_000.0,
        owd_min_us=skipped,
        owd_mean_us=[min(value + 500.0, 38_000.0) for value in skipped],
        owd_max_us=38_500.0,
    )
    overtaken = DIRECTIONS.with_columns(
        pl.lit(50).cast(DIRECTIONS.schema[name]).alias(name)
        for name in ("overtaken", "data_packets")
    )
    shown = delay(made, directions=overtaken)
    assert max(shown) == pytest.approx(1_000.0)
    without = [name for name in made.columns if name.startswith("owd_")]
    alone = made.with_columns(pl.lit(None, made.schema[name]).alias(name) for name in without)
    assert max(delay(alone, directions=overtaken)) == pytest.approx(1_000.0)


def test_an_ack_of_one_packet_has_no_one_way_delay_where_one_capture_stands() -> None:
    """It had one of 0, which came before its RTT: spikes and the usual delay were too low."""
    made = rounds(50, acked_packets=1, sent_packets=2, rtt_mean_us=18_000.0, rtt_max_us=19_000.0)
    table = shown(made)
    assert set(table["delay_us"]) == {9_000.0}
    assert not table["one_way"].any()


def test_a_packet_matched_to_its_retransmission_is_no_delay() -> None:
    """One of 40 packets seems to take 250 ms."""
    mean = (39 * 1_000.0 + 250_000.0) / 40
    made = rounds(
        50,
        owd_min_us=1_000.0,
        owd_mean_us=one(20, mean, 1_000.0),
        owd_max_us=one(20, 250_000.0, 1_000.0),
    )
    assert max(delay(made)) == pytest.approx(0.0, abs=1.0)


def test_a_flow_that_starts_into_a_queue_is_measured_from_the_empty_path() -> None:
    """Both wait 20 ms all the time after the first has seen 10 ms once."""
    first = rounds(100, rtt_min_us=[10e3] + [30e3] * 99, rtt_mean_us=30e3, rtt_max_us=30e3)
    late = rounds(100, flow=1, **alike(30e3))
    table = shown(stack(first, late)).filter(flow=1)
    assert table["base_us"].unique().to_list() == [10e3]


def test_a_flow_of_a_longer_way_has_its_own_base() -> None:
    near = rounds(100)
    far = rounds(100, flow=1, rtt_min_us=70e3, rtt_mean_us=70.4e3, rtt_max_us=70.8e3)
    table = shown(stack(near, far)).filter(flow=1)
    assert table["base_us"].unique().to_list() == [70e3]
