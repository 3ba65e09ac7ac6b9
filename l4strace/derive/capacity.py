"""Rates of each path slot by slot, and the capacity that they show.

All flows of a path together never deliver more than it carries, and deliver exactly that while a
queue stands. The fastest arrivals of single flows (`rounds.train_bps`: eight consecutive
deliveries) show the capacity of a path that is not full, but jitter, aggregation and ACK
compression push single trains above it. So a slot (100 ms or two rounds, and 40 packets) holds two
rates: what all flows delivered, and the median train of the flow with the fastest ones. All rates
are payload bits per second, as in `rounds.goodput_bps`: Ethernet frames of 1514 bytes need 1.046
times as much.

Against 43 emulated runs of 2 to 118 Mbit/s, seen at the sender: 49 phases whose capacity is shown
are off by 0.8 % in the median and by more than 10 % in four (flows that never filled the path
before it changed, a fall to 0.64 that was not found, and 2 ms of jitter: +12 %).
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import company, numbers
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import PATH
from l4strace.schema.vantage import receiver

MIN_SLOT_NS, SLOT_ROUNDS, SLOT_PACKETS = 100_000_000, 2, 40
"""Shortest slot, and the rounds and packets that it spans: the edges of rounds then move its rate
by a few percent. By eye."""

MOST_SLOTS = 1 << 14
"""Slots of a path: 27 minutes of the shortest. Longer runs have longer slots."""

SLOT_BITS = 38
"""Bits of a slot's number: times of 64 bits have fewer slots of a tenth of a second."""

OVERRUN = 1.1
"""More in flight than 1.1 times the window: by eye, above one packet beyond a small window."""

HIGH = 0.8
"""Quantile of the delivered rates: slots with an empty queue lie below the capacity, and slots into
which a long round smears its ACKs above it. By eye."""

FASTER = 1.25
"""Trains count where they are this much faster than what was delivered: schedulers release packets
in bursts, which made trains of eight up to 16 % too fast in the emulated links."""

MIN_TRAINS, TRAIN_PART, AGREE = 5, 0.1, 0.04
"""What makes a level of trains: by eye; jitter of a tenth of their length spreads them by 10 %."""

PLATEAU, MIN_PLATEAU = 0.7, 10
"""Part of the slots with a standing queue, and their number, that deliver the same (within AGREE):
the path is full there, and trains that are faster were compressed behind it. By eye."""

PROBE_PACKETS = 8
"""Packets of a marked round from which its train spans eight deliveries (track/train.rs)."""

ONE_TRAIN, GROWTH, UNEVEN = 3 * PROBE_PACKETS, (0.3, 0.8), 1.5
"""Packets up to which a round may be one train, the mean wait of them over its length (half of it
if all left at once), and the mean step from one RTT to the next over that of even arrivals, which
jitter exceeds. By eye: the first packet often belongs to the round before, and schedulers release
some packets together."""

NEEDED = (
    *("round", "round_trips", "start_ns", "end_ns", "acked_bytes", "acked_packets"),
    *("retransmits", "train_bps"),
    *("rtt_min_us", "rtt_mean_us", "inflight_max_bytes", "rwnd_bytes", "limited_by"),
    *("ce_best", "ece_acks", "ce", "rtt_jitter_us"),
)
"""Columns of `rounds` that slots rest on."""

SPREAD = (
    *("start_ns", "end_ns", "length", "width", "at", "flow", "held", "acked_bytes"),
    *("acked_packets", "marks", "lost", "probe_bps", "train_bps", "rtt_min_us", "peak_us"),
    *("queue_us",),
)
"""Columns that slots take from the rounds that they span."""


@kept
def slots(capture: Capture) -> pl.DataFrame:
    """One row a slot of each path that carried enough.

    Columns: `source`, `path`, `flows` (how many have rounds in it), `slot`, `start_ns`,
    `end_ns`, `first_ns` and `last_ns` (data in it), `delivered_bps`, `train_bps`, `probe_bps`
    (fastest train of a round whose packets waited for each other, as marks or their RTTs show),
    `marks`, `acked` (packets), `lost` (retransmissions), `least_us` (smallest RTT), `queue_us`
    (what even the fastest packet of one of the flows waited, above the smallest RTT of that
    flow), `floor_us` (the same of all flows), `peak_us` (largest mean RTT of a round above it),
    `base_us` (smallest RTT of the path; these four are null at the receiver), `held_back`
    (share of the time in which applications or receivers limited the flows).
    """
    rounds = _rounds(capture)
    if rounds.is_empty():
        return pl.DataFrame(schema=_EMPTY)
    parts = _parts(rounds)
    weight = pl.col("part") * pl.col("length")
    sums = parts.group_by("cell").agg(
        pl.col("at", "slot", "width").first(),
        pl.col("begin").min().alias("first_ns"),
        pl.col("end").max().alias("last_ns"),
        (pl.col("acked_bytes") * pl.col("part")).sum().alias("bytes"),
        *((pl.col(c) * pl.col("part")).sum().alias(c) for c in ("marks", "acked_packets", "lost")),
        pl.col("rtt_min_us").min().alias("least_us"),
        pl.col("peak_us", "probe_bps").max(),
        # Share of the rounds, weighed by time, in which the sender had less to send.
        (weight.filter("held").sum() / weight.sum()).alias("held_back"),
    )
    flows = (
        parts.group_by("cell", "flow")
        .agg(pl.col("train_bps").median(), pl.col("queue_us").min())
        .group_by("cell")
        .agg(
            pl.len().alias("flows"),
            pl.col("train_bps").max(),
            pl.col("queue_us").max(),
            pl.col("queue_us").min().alias("floor_us"),
        )
    )
    paths = rounds.group_by("at").agg(pl.col("base_us").first())
    named = company.directions(capture).select(*PATH, numbers.paths(capture)).unique()
    return (
        sums.join(flows, on="cell", how="left")
        .join(paths.join(named, on="at"), on="at", how="left")
        .with_columns(
            (pl.col("slot") * pl.col("width")).alias("start_ns"),
            ((pl.col("slot") + 1) * pl.col("width")).alias("end_ns"),
            (pl.col("bytes") * 8e9 / pl.col("width")).alias("delivered_bps"),
        )
        .rename({"acked_packets": "acked"})
        .sort("at", "slot")
        .select(list(_EMPTY))
    )


_EMPTY = {
    "source": pl.UInt16(),
    "path": pl.String(),
    "flows": pl.UInt32(),
    **dict.fromkeys(("slot", "start_ns", "end_ns", "first_ns", "last_ns"), pl.Int64()),
    **dict.fromkeys(("delivered_bps", "train_bps", "probe_bps"), pl.Float64()),
    **dict.fromkeys(("marks", "acked", "lost"), pl.Float64()),
    **dict.fromkeys(
        ("least_us", "queue_us", "floor_us", "peak_us", "base_us", "held_back"), pl.Float64()
    ),
}


def _rounds(capture: Capture) -> pl.DataFrame:
    """Rounds of the paths that carry enough, by direction (`of`) and round, with the path's `at`.

    And with `marks`, `lost`, `held`, `queue_us`, `peak_us`, `base_us` and `length`.
    """
    directions, of = company.directions(capture), numbers.directions(capture)
    near = directions.select(near=pl.col("vantage").ne_missing(receiver())).to_series()
    rounds = capture.rounds.select("flow", *NEEDED).with_columns(
        of.alias("of"), numbers.paths(capture).gather(of), near.gather(of)
    )
    side = 2 * pl.col("at").cast(pl.Int64) + pl.col("near")
    acked, all_acked = (pl.col("acked_packets").sum().over(where) for where in (side, "at"))
    # Both directions of flows inside one network are one path: the larger one counts.
    rounds = numbers.ordered(
        rounds.filter(
            pl.col("of").is_not_null(), pl.col("end_ns") > pl.col("start_ns"), 2 * acked > all_acked
        )
    )
    base = pl.col("rtt_min_us").min().over("of")
    path_base = pl.when("near").then(pl.col("rtt_min_us").min().over("at"))
    enough = pl.col("acked_packets").sum().over("at") >= company.MIN_ACKED_PACKETS
    return rounds.filter(enough).with_columns(
        company.marks().alias("marks"),
        pl.col("retransmits").fill_null(0).alias("lost"),
        _held().alias("held"),
        pl.when(~_repaired()).then("train_bps").alias("train_bps"),
        pl.when("near").then(pl.col("rtt_min_us") - base).alias("queue_us"),
        pl.when("near").then(pl.col("rtt_mean_us") - base).alias("peak_us"),
        path_base.alias("base_us"),
        (pl.col("end_ns") - pl.col("start_ns")).alias("length"),
    )


def _repaired() -> pl.Expr:
    """The round or the one before it retransmitted.

    The ACK that closes a hole acknowledges at once what arrived behind it: no rate of the path.
    """
    sent = pl.col("retransmits").fill_null(0) > 0
    return sent | (sent.shift(1, fill_value=False) & (pl.col("of") == pl.col("of").shift(1)))


def _held() -> pl.Expr:
    """The application or the receiver limited the round.

    More in flight than the window offered: its scale is not known (the SYN was cut or missed).
    """
    overrun = pl.col("inflight_max_bytes") > OVERRUN * pl.col("rwnd_bytes")
    receiver_held = (pl.col("limited_by") == "rwnd") & ~overrun.fill_null(False)
    return ((pl.col("limited_by") == "app") | receiver_held).fill_null(False)


def _waited() -> pl.Expr:
    """The round is one train, sent at once, whose packets waited for each other.

    The first one waited for nothing, and RTTs grow by what the train took to arrive. An initial
    window does so: with it alone, a flow that never fills the path still shows how fast that is.
    """
    train_us = pl.col("acked_bytes") * 8e6 / pl.col("train_bps")
    first, mean = pl.col("queue_us"), pl.col("peak_us")
    single = pl.col("acked_packets") <= ONE_TRAIN
    even = pl.col("rtt_jitter_us") * pl.col("acked_packets") <= UNEVEN * train_us
    return single & even & (first <= train_us / 2) & ((mean - first) / train_us).is_between(*GROWTH)


def _parts(rounds: pl.DataFrame) -> pl.DataFrame:
    """Each round once per slot that it touches, with the `part` of it that lies there.

    `cell` is one number for path and slot.
    """
    life = pl.col("end_ns").max() - pl.col("start_ns").min()
    width = pl.max_horizontal(
        pl.lit(MIN_SLOT_NS),
        SLOT_ROUNDS * (pl.col("length") / pl.col("round_trips")).median(),
        SLOT_PACKETS * (life / pl.col("acked_packets").sum()),
        life / MOST_SLOTS,
    )
    enough = pl.col("acked_packets") >= PROBE_PACKETS
    probe = enough & ((pl.col("marks") > 0) | _waited().fill_null(False))
    sized = rounds.with_columns(
        width.cast(pl.Int64).over("at").alias("width"),
        pl.when(probe).then("train_bps").alias("probe_bps"),
    ).select(SPREAD)
    first = pl.col("start_ns") // pl.col("width")
    last = (pl.col("end_ns") - 1) // pl.col("width")
    slots = sized.select(slot=pl.int_ranges(first, last + 1)).with_row_index().explode("slot")
    begin = pl.max_horizontal(pl.col("start_ns"), pl.col("slot") * pl.col("width"))
    end = pl.min_horizontal(pl.col("end_ns"), (pl.col("slot") + 1) * pl.col("width"))
    cell = pl.col("at").cast(pl.Int64) * 2**SLOT_BITS + pl.col("slot") - pl.col("slot").min()
    return (
        sized[slots["index"]]
        .with_columns(slots["slot"])
        .with_columns(begin.alias("begin"), end.alias("end"), cell.alias("cell"))
        .with_columns(((pl.col("end") - pl.col("begin")) / pl.col("length")).alias("part"))
    )


def estimate(delivered: list[float], trains: list[float]) -> float:
    """Capacity (bit/s) behind slots in which the path was full or its flows probed it.

    What was delivered at the upper end, or a level above it that trains agree on: a tenth of them,
    and five, within 4 %. Of several such levels the one with most trains counts, since jitter
    spreads trains and capacity gathers them.
    """
    full = quantile(delivered, HIGH)
    # A round that spans many slots shows its train in each of them.
    distinct = set(trains)
    above = sorted(t for t in distinct if t >= FASTER * full)
    need = max(MIN_TRAINS, TRAIN_PART * len(distinct))
    best, most = full, need - 1
    end = 0
    for begin, low in enumerate(above):
        while end < len(above) and above[end] <= low * (1 + AGREE):
            end += 1
        if end - begin > most:
            best, most = above[(begin + end - 1) // 2], end - begin
    return best


def plateau(delivered: list[float]) -> float | None:
    """What slots with a standing queue deliver, if nearly all deliver the same; else None."""
    full = quantile(delivered, 0.5)
    level = sum(abs(rate - full) <= AGREE * full for rate in delivered)
    return full if level >= max(MIN_PLATEAU, PLATEAU * len(delivered)) else None


def quantile(values: list[float], share: float) -> float:
    """The value that ``share`` of ``values`` do not exceed; 0 without values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0
