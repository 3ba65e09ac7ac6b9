"""Phases of a path, and which rounds belong to them."""

import pytest

from l4strace.derive import neighbors, phases
from l4strace.schema.keys import KEY
from tests.support.frames import MS, capture, frame, rounds, stack
from tests.support.queues import FAST, dropped

FLOWS, DIRECTIONS = frame("flows"), frame("directions", max_payload=1448)


def test_a_path_is_split_where_its_capacity_changes() -> None:
    table = phases.table(dropped())
    assert table["changed"].to_list() == [None, "capacity", "capacity"]
    assert table["capacity_bps"].to_list() == pytest.approx([46.3e6, 4.63e6, 46.3e6], rel=0.01)
    assert table["start_ns"].to_list() == pytest.approx([0, 5_000 * MS, 10_000 * MS], abs=20 * MS)
    assert table["marks"].to_list() == pytest.approx([500, 500, 500], abs=2)


@pytest.mark.parametrize(("last", "count"), [(50, 1), (200, 2)])
def test_flows_that_end_are_no_fall_of_the_capacity(last: int, count: int) -> None:
    """Lab run s1101-071: "fell to at least 2.3 Mbit/s" half a second before its end."""
    acked = [40] * 500 + [20 - 16 * n // last for n in range(last)]
    made = rounds(
        500 + last,
        acked_bytes=[n * 1448 for n in acked],
        acked_packets=acked,
        ce_best=1,
        rtt_mean_us=[10_400.0] * 500 + [100_000.0] * 10 + [10_400.0] * (last - 10),
        train_bps=[n * 1448 * 800.0 for n in acked],
    )
    table = phases.table(capture(flows=FLOWS, directions=DIRECTIONS, rounds=made))
    assert table.height == count


def test_rounds_are_assigned_in_their_order() -> None:
    run = dropped()
    paths = neighbors.directions(run).select(*KEY, "path")
    rows = run.rounds.join(paths, on=KEY, how="left", maintain_order="left")
    with_phase = phases.assigned(run, rows)
    assert with_phase["round"].equals(run.rounds["round"])
    assert [with_phase["phase"][n] for n in (0, 499, 505, 999, 1005)] == [0, 0, 1, 1, 2]


def test_an_unchanged_path_is_one_phase() -> None:
    made = rounds(500, ce_best=1, retransmits=[0] * 490 + [1] * 10)
    table = phases.table(capture(flows=FLOWS, directions=DIRECTIONS, rounds=made))
    row = table.row(0, named=True)
    assert table.height == 1
    assert (row["marks"], row["losses"], row["capacity_shown"]) == (500, 10, True)
    assert row["base_rtt_us"] == 10_000.0


def test_a_capacity_that_nothing_shows_is_a_lower_bound() -> None:
    made = rounds(500, limited_by="app")
    row = phases.table(capture(flows=FLOWS, directions=DIRECTIONS, rounds=made)).row(0, named=True)
    assert not row["capacity_shown"]
    assert row["capacity_bps"] == pytest.approx(46.3e6, rel=0.01)


@pytest.mark.parametrize(("seconds", "count"), [(1.0, 1), (4.0, 2)])
def test_a_flow_that_ends_before_the_others_takes_no_capacity_along(
    seconds: float, count: int
) -> None:
    """Lab run s1301-074: BBR ended, and Prague's marks showed "fell to 2.77 Mbit/s"."""
    left = round(100 * seconds)
    large = rounds(500, acked_bytes=36 * 1448, acked_packets=36, ce_best=1, rtt_mean_us=60_000.0)
    small = rounds(
        500 + left,
        flow=1,
        acked_bytes=4 * 1448,
        acked_packets=4,
        ce_best=1,
        rtt_mean_us=[60_000.0] * 510 + [12_000.0] * (left - 10),
        train_bps=4 * 1448 * 800.0,
    )
    flows, directions = frame("flows", flow=[0, 1]), frame("directions", flow=[0, 1])
    made = capture(flows=flows, directions=directions, rounds=stack(large, small))
    assert phases.table(made).height == count


@pytest.mark.parametrize(("least_us", "count"), [(90_000.0, 2), (10_400.0, 1)])
def test_a_fall_that_lasted_before_a_flow_ended_is_one(least_us: float, count: int) -> None:
    """Run s1701-050: 21.6 to 9 Mbit/s for 2.5 s with a standing queue, then one of two ended.

    Run s1301-092 without the queue: both flows had as few marks as ever, and sent less.
    """

    def flow(number: int, fast: int, slow: int, left: int):
        acked = [fast] * 500 + [slow] * (80 + left)
        return rounds(
            len(acked),
            flow=number,
            ce_best=1,
            acked_bytes=[n * 1448 for n in acked],
            acked_packets=acked,
            rtt_min_us=[10_000.0] * 10 + [40_000.0] * 490 + [least_us] * (80 + left),
            rtt_mean_us=[10_000.0] * 10 + [40_000.0] * 490 + [90_000.0] * (80 + left),
            train_bps=[n * 1448 * 800.0 for n in acked],
        )

    flows, directions = frame("flows", flow=[0, 1]), frame("directions", flow=[0, 1])
    together = stack(flow(0, 32, 8, 0), flow(1, 8, 2, 40))
    table = phases.table(capture(flows=flows, directions=directions, rounds=together))
    assert table.height == count


def test_a_path_filled_once_and_left_low_keeps_its_capacity() -> None:
    """A second at 46, then 6 Mbit/s with marks and without the queue that a slower path leaves."""
    acked = [FAST] * 100 + [7500] * 900
    made = rounds(1000, acked_bytes=acked, acked_packets=40, ce_best=1)
    row = phases.table(capture(flows=FLOWS, directions=DIRECTIONS, rounds=made)).row(0, named=True)
    assert row["capacity_bps"] == pytest.approx(46.3e6, rel=0.02)
    assert row["low_share"] > 0.85


def test_no_rounds_no_phases() -> None:
    assert phases.table(capture(flows=FLOWS, directions=DIRECTIONS)).is_empty()


def first_flight(
    least_us: float, mean_us: float, step_us: float = 390.0, ce: int = 0
) -> dict[str, object]:
    """Ten packets at once that arrive at 30 Mbit/s; then the flow grows from 0.5 Mbit/s."""
    acked = [10, *range(2, 51)]
    made = rounds(
        50,
        start_ns=[175 * MS * n for n in range(50)],
        end_ns=[175 * MS * (n + 1) for n in range(50)],
        acked_packets=acked,
        acked_bytes=[n * 1448 for n in acked],
        ce_best=[ce] + [0] * 49,
        rtt_min_us=[least_us] + [175_000.0] * 49,
        rtt_mean_us=[mean_us] + [175_200.0] * 49,
        rtt_jitter_us=[step_us] + [10.0] * 49,
        train_bps=[30e6, *(n * 70e3 for n in acked[1:])],
    )
    return phases.table(capture(flows=FLOWS, directions=DIRECTIONS, rounds=made)).row(0, named=True)


def test_marks_of_the_first_flight_show_a_path_that_is_never_full() -> None:
    row = first_flight(175_000.0, 175_200.0, ce=2)
    assert (row["capacity_bps"], row["capacity_shown"]) == (30e6, False)
    assert row["low_share"] == 1.0


@pytest.mark.parametrize(
    ("least_us", "mean_us", "step_us", "shown"),
    [
        (175_000.0, 176_900.0, 390.0, True),  # ten packets of 0.39 ms: 1.9 ms on average
        (175_000.0, 175_200.0, 390.0, False),  # paced: none waited
        (179_000.0, 180_900.0, 390.0, False),  # the first one waited too: ACKs were held back
        (175_000.0, 190_000.0, 390.0, False),  # much longer than the train: something else moved
        (175_000.0, 176_900.0, 900.0, False),  # RTTs jump from packet to packet: jitter
    ],
)
def test_packets_that_waited_for_each_other_show_a_path_that_is_never_full(
    least_us: float, mean_us: float, step_us: float, shown: bool
) -> None:
    """Lab run s1101-107: 2.7 of 79 Mbit/s for 9 s without a mark or a loss, and not a word."""
    row = first_flight(least_us, mean_us, step_us)
    assert (row["capacity_bps"] == 30e6) is shown
    assert (row["low_share"] == 1.0) is shown


def never_full(trains: list[float], **columns: object) -> float:
    """Capacity of a path that a flow of 9.3 Mbit/s never fills; some rounds have marks."""
    count, marked = 100, {10 * n: train for n, train in enumerate(trains)}
    made = rounds(
        count,
        acked_packets=80,
        acked_bytes=80 * 1448,
        ce_best=[int(n in marked) for n in range(count)],
        train_bps=[marked.get(n) for n in range(count)],
        start_ns=[100 * MS * n for n in range(count)],
        end_ns=[100 * MS * (n + 1) for n in range(count)],
        **columns,
    )
    table = phases.table(capture(flows=FLOWS, directions=DIRECTIONS, rounds=made))
    return float(table["capacity_bps"][0])


def test_one_fast_train_of_several_is_no_capacity() -> None:
    assert never_full([30e6, 31e6, 30e6, 90e6]) == 30e6


def test_trains_shorter_than_the_jitter_are_no_capacity() -> None:
    """Lab runs s901-035 and s1001-106: bursts and jitter make trains of over 1 Gbit/s."""
    shaken = {"rtt_min_us": 10_000.0, "rtt_max_us": 16_000.0, "rtt_samples": 20}
    assert never_full([1.2e9, 1.2e9]) == 1.2e9
    assert never_full([1.2e9, 1.2e9], **shaken) < 10e6
    assert never_full([20e6, 20e6], **shaken) == 20e6


def test_the_capacity_of_a_path_is_that_of_its_longest_phase() -> None:
    assert phases.capacities(dropped())["capacity_bps"][0] == pytest.approx(46.3e6, rel=0.01)


def test_what_a_direction_did_is_that_of_the_capture_nearest_to_the_sender() -> None:
    seen = capture(
        flows=frame("flows", source=[0, 1], vantage=["middle", "client"]),
        directions=frame("directions", source=[0, 1]),
        rounds=stack(*(rounds(9, source=of, acked_bytes=10 + of) for of in (0, 1))),
    )
    found = phases.during(seen, seen.directions, 0, 10 * MS)
    assert found.select("source", "carried_bytes").rows() == [(1, 22)]
