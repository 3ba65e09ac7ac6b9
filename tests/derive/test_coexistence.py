"""Shares of overlapping flows."""

import polars as pl
import pytest

from l4strace.derive import coexistence
from tests.support.frames import MS, capture, frame, rounds, stack

FLOWS = frame("flows", flow=[0, 1], client_port=[40001, 40002])
DIRECTIONS = frame("directions", flow=[0, 1], data_ect1=[1000, 0], data_ect0=[0, 1000])


MARKED = [int(i % 20 == 0) for i in range(1000)]
"""A mark every 20 rounds: the path, not the application, limits the flow."""


def wave(size: int, swing: float = 0.2) -> list[int]:
    """Bytes of 1000 rounds that vary from second to second, as those of a starved flow do."""
    return [round(size * (1 + swing * (1 if i // 100 % 2 else -1))) for i in range(1000)]


def table(
    *frames: pl.DataFrame, flows: pl.DataFrame = FLOWS, directions: pl.DataFrame = DIRECTIONS
) -> pl.DataFrame:
    return coexistence.table(capture(flows=flows, directions=directions, rounds=stack(*frames)))


def sparse(size: int) -> pl.DataFrame:
    """86 packets in 10 s, one at a time, of which each ninth is lost."""
    lost = [int(i % 9 == 0) for i in range(86)]
    packet = {"sent_packets": 1, "sent_bytes": size, "acked_packets": 1, "acked_bytes": size}
    times = [i * 116 * MS for i in range(87)]
    return rounds(86, flow=0, retransmits=lost, start_ns=times[:-1], end_ns=times[1:], **packet)


def test_share_jain_and_starvation_of_both_sides() -> None:
    result = table(
        rounds(1000, flow=0, acked_bytes=wave(9_000), ce_best=MARKED),
        rounds(1000, flow=1, acked_bytes=81_000),
    )
    first, second = result.rows(named=True)
    assert first["share"] == pytest.approx(0.1)
    assert first["jain"] == pytest.approx(100 / (2 * 82))
    assert first["rate_bps"] == pytest.approx(7.2e6)
    assert first["starved_since_ns"] == 0
    assert second["starved_since_ns"] is None


def test_starvation_begins_when_the_share_falls_for_good() -> None:
    falling = [50_000] * 500 + wave(2_000)[500:]
    result = table(
        rounds(1000, flow=0, acked_bytes=falling, ce_best=MARKED),
        rounds(1000, flow=1, acked_bytes=50_000),
    )
    assert result["starved_since_ns"][0] == pytest.approx(5_000 * MS, abs=1_100 * MS)
    # The share since then, not that of the whole overlap.
    assert result["share"][0] == pytest.approx(0.34, abs=0.01)
    assert result["starved_share"][0] == pytest.approx(0.038, abs=0.01)
    assert result["starved_rate_bps"][0] == pytest.approx(1.6e6, rel=0.1)
    assert result["starved_other_rate_bps"][0] == pytest.approx(40e6, rel=0.1)


def test_a_flow_that_holds_itself_back_is_not_starved() -> None:
    idle = rounds(1000, flow=0, acked_bytes=2_000, sent_bytes=2_000, limited_by="app")
    result = table(idle, rounds(1000, flow=1, acked_bytes=80_000))
    assert result["starved_since_ns"].to_list() == [None, None]


def test_only_the_overlap_counts() -> None:
    late = rounds(500, flow=1, begin_ns=5_000 * MS)
    result = table(rounds(1000, flow=0), late)
    assert result["start_ns"].to_list() == [5_000 * MS] * 2
    assert result["share"].to_list() == pytest.approx([0.5, 0.5], abs=0.02)


def test_a_rate_is_that_of_the_overlap_and_not_of_the_seconds_it_touches() -> None:
    """Lab run s1801-146: 8.65 and 5.24 Mbit/s were said of a link of 13.5 Mbit/s."""
    late = rounds(260, flow=1, begin_ns=5_800 * MS, acked_bytes=4_000)
    pair = table(rounds(1000, flow=0, acked_bytes=10_000), late)
    assert pair["rate_bps"].to_list() == pytest.approx([8e6, 3.2e6])
    assert pair["other_rate_bps"].to_list() == pytest.approx([3.2e6, 8e6])
    assert pair["share"][1] == pytest.approx(0.286, abs=0.001)


def test_a_round_that_the_overlap_cuts_counts_in_part() -> None:
    late = rounds(400, flow=1, begin_ns=5_300 * MS)
    whole = rounds(1000, flow=0)
    long = whole.head(3).with_columns(
        pl.Series("start_ns", [0, 2_600 * MS, 5_200 * MS]),
        pl.Series("end_ns", [2_600 * MS, 5_200 * MS, 10_000 * MS]),
        pl.Series("acked_bytes", [2_600_000, 2_600_000, 4_800_000], pl.UInt64),
        pl.lit(100, pl.UInt32).alias("acked_packets"),
    )
    pair = table(stack(long, rounds(100, flow=0, begin_ns=10_000 * MS, acked_bytes=0)), late)
    assert pair["rate_bps"][0] == pytest.approx(8e6)


def test_other_paths_short_overlaps_and_tiny_flows_make_no_pair() -> None:
    apart = FLOWS.with_columns(server=pl.Series(["10.0.3.2", "192.0.2.9"]))
    assert table(rounds(500, flow=0), rounds(500, flow=1), flows=apart).is_empty()
    assert table(rounds(500, flow=0), rounds(500, flow=1, begin_ns=4_500 * MS)).is_empty()
    assert table(rounds(500, flow=0), rounds(500, flow=1, acked_packets=0)).is_empty()


def test_a_flow_starved_to_a_few_full_packets_does_not_hold_itself_back() -> None:
    """Between its ACKs it has nothing in flight, as if its application paused."""
    few = {"sent_packets": 2, "sent_bytes": 2 * 1448, "acked_packets": 2, "acked_bytes": 2 * 1448}
    flight = {"inflight_max_packets": 2}
    starved = rounds(1000, flow=0, limited_by="app", ce_best=MARKED, **few, **flight)
    result = table(starved, rounds(1000, flow=1, acked_bytes=80_000))
    assert result["starved_since_ns"].to_list() == [0, None]


@pytest.mark.parametrize(
    ("marked", "payload", "starves"), [(1, 1448, True), (0, 1448, False), (1, 120, False)]
)
def test_a_window_of_less_than_a_packet_starves(marked: int, payload: int, starves: bool) -> None:
    """One full packet in 370 ms, each marked: 31 kbit/s beside 3.8 Mbit/s."""
    period, trip = 370 * MS, 40 * MS
    begin = [n * period for n in range(54)]
    slow = rounds(
        54,
        flow=0,
        start_ns=begin,
        end_ns=[ns + trip for ns in begin],
        acked_packets=1,
        acked_bytes=payload,
        sent_packets=1,
        sent_bytes=payload,
        ce_best=marked,
        limited_by="app",
    )
    beside = rounds(2000, flow=1, acked_bytes=4_750)
    sizes = DIRECTIONS.with_columns(max_payload=pl.Series([payload, 1448], dtype=pl.UInt32))
    found = table(slow, beside, directions=sizes)
    starved = found.filter(pl.col("starved_since_ns").is_not_null())
    assert starved["flow"].to_list() == [0] * starves


def test_a_source_that_pauses_for_longer_than_its_round_trips_is_not_starved() -> None:
    """Run s8103-047: full packets in pairs, acknowledged in 12 ms, and then nothing for 60 ms."""
    pair = {"sent_packets": 2, "sent_bytes": 2 * 1448, "acked_packets": 2, "acked_bytes": 2 * 1448}
    begins = [i * 73 * MS for i in range(130)]
    marked = [int(i % 5 == 0) for i in range(130)]
    for busy, since in ((12, None), (70, 0)):
        ends = [begin + busy * MS for begin in begins]
        times = {"start_ns": begins, "end_ns": ends}
        paced = rounds(130, flow=0, limited_by="app", ce_best=marked, **pair, **times)
        result = table(paced, rounds(950, flow=1, acked_bytes=20_000))
        assert result["starved_since_ns"].to_list() == [since, None]


def test_a_trickle_on_a_slow_link_starves() -> None:
    """0.1 of 4 Mbit/s: 86 packets in 10 s, which a bound on packets would leave out."""
    result = table(sparse(1448), rounds(1000, flow=1, acked_packets=4, acked_bytes=4_900))
    assert result["starved_since_ns"].to_list() == [0, None]
    assert result["starved_share"][0] == pytest.approx(0.025, abs=0.005)


def test_nobody_starves_beside_a_flow_that_takes_nothing() -> None:
    """Two idle connections of a browser: 484 bit/s "starved" beside 7.69 kbit/s."""
    small = DIRECTIONS.with_columns(max_payload=pl.lit(6, pl.UInt32))
    for size, starves in ((12, False), (30, True)):
        beside = rounds(1000, flow=1, acked_packets=4, acked_bytes=size)
        result = table(sparse(6), beside, directions=small)
        assert (result["starved_since_ns"][0] is not None) is starves


def test_a_flow_that_a_queue_of_seconds_leaves_a_few_rounds_starves() -> None:
    """Run s1701-130: 5 s of queue, no mark, no loss: 166 packets in eight rounds."""
    edges = [0, 150 * MS, 350 * MS, 800 * MS, 1500 * MS, 2800 * MS, 5200 * MS, 10_000 * MS]
    spans = {"start_ns": edges[:-1], "end_ns": edges[1:]}
    counts = [9, 18, 28, 27, 29, 40, 14]
    waits = [150e3, 340e3, 380e3, 700e3, 1300e3, 2400e3, 4800e3]
    few = {"acked_packets": counts, "acked_bytes": [1448 * count for count in counts]}
    beside = rounds(1000, flow=1, acked_packets=4, acked_bytes=4_900)
    starved = table(rounds(7, flow=0, rtt_min_us=waits, **few, **spans), beside)
    assert starved["starved_since_ns"].is_not_null().to_list() == [True, False]
    assert table(rounds(7, flow=0, rtt_min_us=150e3, **few, **spans), beside).is_empty()


def test_a_paced_source_that_no_mark_or_loss_cuts_is_not_starved() -> None:
    """It always has data in flight, so no round drains; its window would have grown long before."""
    paced = rounds(1000, flow=0, acked_packets=5, acked_bytes=wave(5 * 1448))
    result = table(paced, rounds(1000, flow=1, acked_bytes=80_000))
    assert result["starved_since_ns"].to_list() == [None, None]
    assert result["held_back"][0] > 0.5


def test_a_source_of_constant_rate_is_not_starved_by_a_few_marks() -> None:
    steady = rounds(1000, flow=0, acked_packets=5, acked_bytes=5 * 1448, ce_best=MARKED)
    result = table(steady, rounds(1000, flow=1, acked_bytes=wave(80_000), ce_best=MARKED))
    assert result["starved_since_ns"].to_list() == [None, None]


def test_a_paced_source_has_more_in_flight_than_its_rounds_deliver() -> None:
    """Simulated run s38411-038: 8.06 Mbit/s, a round of two packets each half of a round trip."""
    for flight, since in ((2, 0), (4, None)):
        pair = {"acked_packets": 2, "acked_bytes": 2 * 1448, "inflight_max_packets": flight}
        paced = rounds(1000, flow=0, ce_best=MARKED, **pair)
        result = table(paced, rounds(1000, flow=1, acked_bytes=wave(80_000), ce_best=MARKED))
        assert result["starved_since_ns"].to_list() == [since, None]


def test_a_source_of_constant_rate_holds_itself_back_beside_one_that_takes_more() -> None:
    """Simulated run s4417-005: 7.34 Mbit/s, four packets a round, whatever the path carried."""
    steady = rounds(1000, flow=0, acked_packets=4, acked_bytes=4 * 1448, ce_best=MARKED)
    beside = {"flow": 1, "ce_best": MARKED}
    result = table(steady, rounds(1000, acked_bytes=wave(20_000), **beside))
    assert result["held_back"].to_list() == [1.0, 0.0]
    # A queue of its own gives both flows one steady rate.
    fair = table(steady, rounds(1000, acked_packets=4, acked_bytes=4 * 1448 + 9, **beside))
    assert fair["held_back"][0] == 0.0
    pair = {"acked_packets": 2, "acked_bytes": 2 * 1448, "inflight_max_packets": 2}
    least = rounds(1000, flow=0, ce_best=MARKED, **pair)
    assert table(least, rounds(1000, acked_bytes=20_000, **beside))["held_back"][0] == 0.0


def test_a_receive_window_of_unknown_scale_holds_nobody_back() -> None:
    cut = DIRECTIONS.with_columns(options_cut=pl.lit(5, pl.UInt64))
    small = rounds(1000, flow=0, acked_bytes=wave(9_000), ce_best=MARKED, limited_by="rwnd")
    both = small, rounds(1000, flow=1, acked_bytes=81_000)
    assert table(*both, directions=cut)["starved_since_ns"].to_list() == [0, None]
    assert table(*both)["starved_since_ns"].to_list() == [None, None]


def test_a_transfer_that_is_over_in_two_seconds_has_not_starved() -> None:
    """440 kB over 70 ms: slow start, not starvation."""
    short = rounds(160, flow=0, begin_ns=2_800 * MS, acked_bytes=2_700, ce_best=MARKED[:160])
    result = table(short, rounds(1000, flow=1, acked_bytes=20_000))
    assert result["share"][0] < 0.2
    assert result["starved_since_ns"].to_list() == [None, None]


def test_the_end_of_the_other_flow_does_not_feed_the_starved_one() -> None:
    """The overlap ends inside a second, in which the other flow has nothing left to send."""
    starved = rounds(1000, flow=0, acked_bytes=wave(3_000)[:950] + [60_000] * 50, ce_best=MARKED)
    result = table(starved, rounds(955, flow=1, acked_bytes=[80_000] * 900 + [1_000] * 55))
    assert result["starved_since_ns"].to_list() == [0, None]
    assert result["starved_share"][0] == pytest.approx(3 / 83, abs=0.005)


def test_centuries_between_two_packets_take_no_memory() -> None:
    """A damaged capture (hostile case 14382) took 24 GB for seconds without data."""
    made = [
        stack(rounds(500, flow=flow), rounds(500, flow=flow, begin_ns=9 * 10**18))
        for flow in (0, 1)
    ]
    assert table(*made)["share"].to_list() == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(("sent", "starves"), [(587, False), (1448, True)])
def test_a_sender_of_packets_that_are_not_full_has_no_more_to_send(
    sent: int, starves: bool
) -> None:
    """Lab run s1001-002: 470 kbit/s by Nagle's algorithm, a packet of 587 bytes a round trip."""
    one = {"sent_packets": 1, "acked_packets": 1, "sent_bytes": sent, "limited_by": "cwnd"}
    slow = rounds(1000, flow=0, acked_bytes=wave(587), ce_best=MARKED, **one)
    directions = DIRECTIONS.with_columns(
        pl.lit(1448, pl.UInt32).alias("max_payload"), pl.lit(0, pl.UInt64).alias("super_packets")
    )
    result = table(slow, rounds(1000, flow=1, acked_bytes=80_000), directions=directions)
    assert (result["starved_since_ns"][0] is not None) is starves


def test_a_long_round_belongs_to_all_the_seconds_that_it_spans() -> None:
    """Lab run s1201-028: repairs of two seconds looked like turns that the flows take."""

    def long(begin: int) -> dict[str, list[int] | int]:
        starts = [(begin + 4_000 * i) * MS for i in range(4)]
        ends = [start + 4_000 * MS for start in starts]
        return {"start_ns": starts, "end_ns": ends, "retransmits": 5, "acked_packets": 400}

    result = table(
        rounds(4, flow=0, acked_bytes=[n * 10_000 for n in (12, 9, 11, 8)], **long(0)),
        rounds(4, flow=1, acked_bytes=2_000_000, **long(1_500)),
    )
    assert result["starved_since_ns"].to_list() == [1_500 * MS, None]
    assert result["starved_share"][0] == pytest.approx(0.048, abs=0.002)


@pytest.mark.parametrize(("late", "since"), [(24_000, 3_000), (90_000, None)])
def test_a_starvation_that_eases_for_a_second_is_one(late: int, since: int | None) -> None:
    """Lab run s1201-113: 3 to 13 % for six seconds, then 20 % in the last one."""
    own = wave(40_000)[:300] + wave(3_000)[:600] + wave(late)[:100]
    result = table(
        rounds(1000, flow=0, acked_bytes=own, ce_best=MARKED),
        rounds(1000, flow=1, acked_bytes=40_000),
    )
    begun = result["starved_since_ns"][0]
    assert begun == (None if since is None else pytest.approx(since * MS, abs=1_100 * MS))


@pytest.mark.parametrize(
    ("packets", "starves"), [([10, 15, 22, 33, 49, 72, 105], False), ([10] + [6] * 12, True)]
)
def test_a_sender_that_still_doubles_does_not_starve(packets: list[int], starves: bool) -> None:
    """Simulated run s8001-096: a transfer of seven round trips of 500 ms beside a long one."""
    begins = [500 * MS * n for n in range(len(packets))]
    own = rounds(
        len(packets),
        flow=0,
        start_ns=begins,
        end_ns=[begin + 500 * MS for begin in begins],
        rtt_min_us=[100_000.0] + [480_000.0] * (len(packets) - 1),
        acked_packets=packets,
        acked_bytes=[1448 * count for count in packets],
    )
    result = table(own, rounds(1000, flow=1, acked_packets=30, acked_bytes=30 * 1448))
    assert result["starved_since_ns"].is_not_null().to_list() == [starves, False]
