"""How flow directions that sent at the same time over the same path divided it."""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import neighbors, numbers
from l4strace.evidence import Capture
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY

MAX_FLOWS_PER_PATH = 8
"""Largest flows of a path that are compared pair by pair: pairs grow with the square."""

MIN_OVERLAP_NS = 1_000_000_000
"""Less time beside each other shows slow start, not how the path was divided. By eye."""

SLOT_NS = 1_000_000_000
"""Slots to compare shares in: tens of round trips, and short enough to date a starvation."""

SHORT_PART, LONG_SLOTS = 10, 60
"""A round shorter than a tenth of a slot counts where it begins; so does one that lasts for more
than a minute, which holds a pause. By eye."""

SMOOTH_SLOTS = 3
"""Slots averaged, so that one cut does not end a starvation. By eye."""

STARVED_SHARE = 0.2
"""A fifth of the pair's rate: a quarter of what the other one gets."""

CLEAR_SHARE, MOSTLY = 0.15, 0.8
"""Share from some slot on, and part of the slots after it below STARVED_SHARE, from which single
slots above that do not end a starvation. By eye."""

MIN_STARVED_SLOTS = 3
"""As many as are averaged: fewer are one dip."""

MIN_STARVED_NS = 2_000_000_000
"""The first and the last second may hold little: a transfer that is over sooner has not starved,
it was still in slow start. By eye."""

HELD_BACK = _native.HELD_BACK
"""Share of rounds in which a flow had less to send, from which it did not starve: most."""

PARTIAL = 0.75
"""Mean size of a round's packets, in parts of a full one, below which the sender had no more: one
with more to send fills its packets. By eye; the last of a write may be smaller."""

UNPRESSED = 3.0
"""Windows that a sender could have grown by since its last mark or loss, from which something else
than the path holds it back. Reno and CUBIC's Reno region add half a packet to one packet a round
(RFC 9438 section 4.3), so a sender of the path's making has grown by its window long before."""

PRAGUE_RTT_US = 25_000.0
"""Prague grows as if its RTT was at least this long: (RTT / 25 ms)^2 packets a round."""

STEADY = 0.02
"""Relative deviation of the rates of single seconds below which a source sets the rate: by eye,
from starved flows of the lab, whose rates vary by 5 % and more."""

STEADY_ROUNDS, STEADY_SLOTS = 40, 5
"""Rounds in a slot and whole slots from which that is judged: with 40 rounds the edges of a slot
move its rate by 2.5 % at most, and fewer rates are alike by chance."""

SMALL_WINDOW = 4.0
"""Packets a round up to which the smallest windows alone keep a rate steady: a sender at its
minimum of 2 packets (RFC 5681 section 3.1) sends these each round."""

LARGE_PAYLOAD = 1000
"""Bytes from which a packet is filled by a transfer, not by one message of an application: by eye,
below the 1,220 of IPv6's smallest MTU (RFC 8200 section 5)."""

FEW_PACKETS = 20
"""Packets that make a direction worth comparing when marks, losses or a queue pressed it: a flow
that starves on a slow link sends no more. By eye: it is two initial windows (RFC 6928)."""

LEAST_TAKEN = 10 * neighbors.FRAME_BYTES * 8
"""Bits of the other flow from which it takes something: ten packets, an initial window (RFC 6928),
are sent whatever the path holds."""

LONG_QUEUE = 2.0
"""Least RTT of half of the rounds, in times of the shortest, from which a queue makes rounds few: a
queue of seconds leaves a flow ten rounds in a run, without a mark or a loss. By eye."""


def table(capture: Capture) -> pl.DataFrame:
    """One row per ordered pair of overlapping directions, in the schema of `coexistence`."""
    schema = TABLES["coexistence"]
    if capture.flows["flow"].n_unique() < 2:
        return schema.empty()
    rounds = _bulk_rounds(capture)
    if rounds.is_empty():
        return schema.empty()
    pairs = _pairs(rounds)
    if pairs.is_empty():
        return schema.empty()
    slots = _shares(pairs, rounds)
    keys = [*KEY, "other_flow"]
    seconds = (pl.col("end_ns") - pl.col("start_ns")) / 1e9
    held = slots.group_by(keys).agg(pl.col("held_back").mean())
    result = (
        _bits(pairs, rounds)
        .join(held, on=keys, how="inner")
        .join(_starved(slots), on=keys, how="left", maintain_order="left")
        .with_columns(
            (pl.col("bits") / seconds).alias("rate_bps"),
            (pl.col("other_bits") / seconds).alias("other_rate_bps"),
            (pl.col("bits") / (pl.col("bits") + pl.col("other_bits"))).alias("share"),
            _jain(pl.col("bits"), pl.col("other_bits")).alias("jain"),
        )
    )
    return schema.conform(result).sort(schema.key)


def _bulk_rounds(capture: Capture) -> pl.DataFrame:
    """Rounds of the directions worth comparing, with their `path`, `bits` and `held_back`."""
    of = numbers.directions(capture)
    rounds = capture.rounds.select(
        *KEY,
        *("round", "start_ns", "end_ns", "acked_packets", "acked_bytes", "retransmits"),
        *("limited_by", "sent_packets", "sent_bytes", "ce_best", "ece_acks", "rtt_min_us"),
        of=of,
        pressed=_pressed(),
    )
    sizes = rounds.lazy().filter(pl.col("of").is_not_null()) if of.null_count() else rounds.lazy()
    of_all = (
        sizes.group_by("of")
        .agg(
            pl.len().alias("rounds"),
            pl.col("acked_packets", "acked_bytes").sum(),
            pl.col("pressed").any(),
            (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("length"),
        )
        .filter(_large() | _small())
        .collect()
    )
    small = of_all.lazy().filter(~_large()).select("of")
    held = rounds.lazy().select("of", "rtt_min_us").join(small, on="of", how="semi")
    queued = held.group_by("of").agg(queued=_queued())
    pressed = pl.col("pressed") | pl.col("queued")
    judged = (
        of_all.lazy()
        .join(queued, on="of", how="left", maintain_order="left")
        .filter(_large() | pressed)
    )
    handshakes = capture.flows.lazy().select("source", "flow", "handshake")
    paths = (
        neighbors.directions(capture)
        .lazy()
        .select(*KEY, "path", "max_payload", "super_packets", "options_cut", "marked_as")
        .with_row_index("of")
        .join(handshakes, on=["source", "flow"], how="left", maintain_order="left")
        .join(judged.select("of", size="acked_bytes"), on="of")
    )
    rank = pl.col("size").rank("ordinal", descending=True).over("source", "path")
    large = paths.filter(rank <= MAX_FLOWS_PER_PATH).drop(KEY, "size")
    kept = rounds.lazy().join(large, on="of", maintain_order="left")
    return kept.with_columns(
        (pl.col("acked_bytes") * 8).cast(pl.Float64).alias("bits"),
        (_held_back() | _stuck()).alias("held_back"),
    ).collect()


def _large() -> pl.Expr:
    return (pl.col("rounds") >= neighbors.MIN_ROUNDS) & (
        pl.col("acked_packets") >= neighbors.MIN_ACKED_PACKETS
    )


def _small() -> pl.Expr:
    """A flow that sends little, for as long as a starvation needs: if the path holds it."""
    long = pl.col("length") >= MIN_STARVED_SLOTS * SLOT_NS
    return long & (pl.col("acked_packets") >= FEW_PACKETS)


def _queued() -> pl.Expr:
    """Most packets of a direction waited for longer than they travelled."""
    least = pl.col("rtt_min_us")
    return (least.median() >= LONG_QUEUE * least.min()).fill_null(False)


def _pressed() -> pl.Expr:
    """The path showed congestion in the round: a mark fed back or a loss."""
    counts = (pl.col(name).fill_null(0) for name in ("ce_best", "ece_acks", "retransmits"))
    return pl.any_horizontal(count > 0 for count in counts)


def _held_back() -> pl.Expr:
    """The sender had less to send than it might have; nothing but full packets means it had more.

    A flow that is starved to a window of two or three packets looks like one whose application
    pauses, but for the size of its packets and the pause: a starved one sends as soon as its last
    packets are acknowledged. One whose window is a fraction of a packet pauses as well: marks or
    losses of those few full packets cut it. Without the SYN's options the scale of the receive
    window is unknown, so it shows nothing.
    """
    scaled = (pl.col("options_cut").fill_null(0) == 0) & (pl.col("handshake") != "none")
    window = (pl.col("limited_by") == "rwnd") & scaled
    full = pl.col("sent_bytes") >= pl.col("sent_packets") * pl.col("max_payload")
    few = (pl.col("sent_packets") <= SMALL_WINDOW) & (pl.col("max_payload") >= LARGE_PAYLOAD)
    cut = full & few & pl.col("pressed")
    several = pl.col("sent_packets") >= 2
    pause = pl.col("start_ns").shift(-1).over(KEY) - pl.col("end_ns")
    busy = ~(pause > pl.col("end_ns") - pl.col("start_ns")).fill_null(False)
    drained = (pl.col("limited_by") == "app") & ~(full & several & busy) & ~cut
    # Nagle's algorithm (RFC 896) sends what there is as soon as nothing is in flight.
    partial = pl.col("sent_bytes") < PARTIAL * pl.col("sent_packets") * pl.col("max_payload")
    partial &= pl.col("super_packets") == 0
    return (window | drained | partial).fill_null(False)


def _stuck() -> pl.Expr:
    """Neither marks nor losses cut the window, and yet it does not grow: the source sets the rate.

    This shows where the tracker cannot: a paced source over a long path always has data in flight,
    and a capture far from the sender does not see the window.
    """
    length_us = (pl.col("end_ns") - pl.col("start_ns")) / 1e3
    slowed = (length_us / PRAGUE_RTT_US).pow(2).clip(upper_bound=1.0)
    growth = pl.when(pl.col("marked_as") == "ect1").then(slowed).otherwise(1.0)
    grown = growth.cum_sum().over(KEY)
    at_cut = pl.when("pressed").then(grown).forward_fill().fill_null(0.0).over(KEY)
    since = grown - at_cut
    window = pl.col("acked_packets").cast(pl.Float64).clip(lower_bound=SMALL_WINDOW)
    return since > UNPRESSED * window


def _pairs(rounds: pl.DataFrame) -> pl.DataFrame:
    """Ordered pairs of directions with the time both were sending."""
    spans = (
        rounds.lazy().group_by(*KEY, "path").agg(pl.col("start_ns").min(), pl.col("end_ns").max())
    )
    both = spans.join(spans, on=["source", "path"], suffix="_other").filter(
        pl.col("flow") != pl.col("flow_other")
    )
    overlaps = both.select(
        *KEY,
        pl.col("flow_other").alias("other_flow"),
        pl.col("forward_other").alias("other_forward"),
        pl.max_horizontal("start_ns", "start_ns_other").alias("start_ns"),
        pl.min_horizontal("end_ns", "end_ns_other").alias("end_ns"),
    ).filter(pl.col("end_ns") - pl.col("start_ns") >= MIN_OVERLAP_NS)
    return overlaps.collect()


def _bits(pairs: pl.DataFrame, rounds: pl.DataFrame) -> pl.DataFrame:
    """Pairs with the bits of both in their overlap, and in no more: one of them sent before it."""
    sums = rounds.select(*KEY, "start_ns", "end_ns", "bits").sort("end_ns")
    sums = sums.with_columns(pl.col("bits").cum_sum().over(KEY).alias("sum"))
    begin, end = (_sum_at(pairs, sums, at) for at in ("start_ns", "end_ns"))
    own = pairs.with_columns((end - begin).alias("bits"))
    other = own.select(
        "source", other_flow="flow", other_forward="forward", flow="other_flow", other_bits="bits"
    )
    return own.join(other, on=["source", "flow", "other_flow", "other_forward"])


def _sum_at(pairs: pl.DataFrame, sums: pl.DataFrame, time: str) -> pl.Series:
    """Bits of each pair's flow up to a time; a round's bits are spread over its length."""
    times = pairs.with_row_index("pair").select("pair", *KEY, at=time).sort("at")
    found = times.join_asof(
        sums, left_on="at", right_on="end_ns", by=KEY, strategy="forward", check_sortedness=False
    )
    left = (pl.col("end_ns") - pl.col("at")) / (pl.col("end_ns") - pl.col("start_ns"))
    left = left.fill_nan(0.0).clip(0.0, 1.0)
    return found.sort("pair").select(pl.col("sum") - pl.col("bits") * left).to_series()


def _shares(pairs: pl.DataFrame, rounds: pl.DataFrame) -> pl.DataFrame:
    """Bits of both flows in each slot of their overlap."""
    sums = (
        _by_slot(rounds)
        .group_by(*KEY, "slot")
        .agg(
            pl.col("bits").sum(),
            pl.col("held_back").mean(),
            pl.len().alias("rounds"),
            pl.col("acked_packets").mean().alias("window"),
        )
    )
    others = sums.rename({"flow": "other_flow", "forward": "other_forward", "bits": "other_bits"})
    pair = ["source", "other_flow", "other_forward", "slot"]
    # Slots with data only: between two packets may lie years, in a capture that was damaged.
    filled = [
        pairs.join(sums.select(*KEY, "slot"), on=KEY),
        pairs.join(others.select(pair), on=pair[:-1]),
    ]
    slots = (
        pl.concat([rows.select(*pairs.columns, "slot") for rows in filled])
        .unique()
        .filter(
            pl.col("slot").is_between(pl.col("start_ns") // SLOT_NS, pl.col("end_ns") // SLOT_NS)
        )
    )
    return (
        slots.join(sums, on=[*KEY, "slot"], how="left", maintain_order="left")
        .join(
            others.drop("held_back", "rounds", "window"), on=pair, how="left", maintain_order="left"
        )
        .with_columns(pl.col("bits", "other_bits").fill_null(0.0))
        .filter(pl.col("bits") + pl.col("other_bits") > 0)
        .sort(*KEY, "other_flow", "slot")
    )


def _by_slot(rounds: pl.DataFrame) -> pl.DataFrame:
    """Rounds by the `slot` in which they begin; long ones in each that they touch, with its part.

    A round that repairs losses may last for seconds.
    """
    first, end = pl.col("start_ns") // SLOT_NS, pl.col("end_ns")
    length = end - pl.col("start_ns")
    rows = rounds.select(
        *KEY, "start_ns", "end_ns", "bits", "held_back", "acked_packets", slot=first
    )
    long = length.is_between(SLOT_NS // SHORT_PART, LONG_SLOTS * SLOT_NS)
    touched = rows.filter(long).with_columns(slot=pl.int_ranges(first, (end - 1) // SLOT_NS + 1))
    inside = pl.min_horizontal(end, (pl.col("slot") + 1) * SLOT_NS) - pl.max_horizontal(
        "start_ns", pl.col("slot") * SLOT_NS
    )
    parts = touched.explode("slot").with_columns(pl.col("bits") * inside / length)
    return pl.concat([rows.filter(~long), parts])


def _starved(slots: pl.DataFrame) -> pl.DataFrame:
    """The starvation that lasts to the end of the overlap, with both rates since it began.

    No row without one, nor for a flow that has as much as it asks for.
    """
    keys = [*KEY, "other_flow"]
    # One of the two has stopped in the last slot, so it shows no share.
    whole = (pl.col("slot") + 1) * SLOT_NS <= pl.col("end_ns")
    own, other = (
        pl.when(whole)
        .then(pl.col(bits))
        .rolling_mean(SMOOTH_SLOTS, min_samples=1, center=True)
        .over(keys)
        for bits in ("bits", "other_bits")
    )
    share = pl.when(whole).then(own / (own + other))
    smooth = slots.with_columns(share.alias("share"), whole.alias("whole"))
    fed = pl.col("slot").filter(pl.col("share") >= STARVED_SHARE).max().over(keys)
    since = pl.min_horizontal(
        pl.coalesce(fed + 1, pl.col("slot").min().over(keys)),
        pl.col("slot").filter(_clear()).min().over(keys),
    )
    hungry = smooth.with_columns(since.alias("since")).filter(pl.col("slot") >= pl.col("since"))
    spans = hungry.group_by(keys).agg(
        pl.col("since").first(),
        pl.len().alias("slots"),
        pl.col("held_back").mean(),
        _steady().alias("steady"),
        pl.max_horizontal(pl.col("since") * SLOT_NS, "start_ns").first().alias("starved_since_ns"),
        pl.col("end_ns").first(),
        pl.col("bits", "other_bits").filter(pl.col("whole")).sum(),
        ((pl.col("slot").filter(pl.col("whole")).max() + 1) * SLOT_NS).alias("whole_ns"),
    )
    seconds = (pl.col("whole_ns") - pl.col("starved_since_ns")) / 1e9
    return spans.filter(
        (pl.col("slots") >= MIN_STARVED_SLOTS)
        & (pl.col("end_ns") - pl.col("starved_since_ns") >= MIN_STARVED_NS)
        & ~(pl.col("held_back") >= HELD_BACK).fill_null(False)
        & ~pl.col("steady")
        & (pl.col("other_bits") >= LEAST_TAKEN)
    ).select(
        *keys,
        "starved_since_ns",
        (pl.col("bits") / seconds).alias("starved_rate_bps"),
        (pl.col("other_bits") / seconds).alias("starved_other_rate_bps"),
        (pl.col("bits") / (pl.col("bits") + pl.col("other_bits"))).alias("starved_share"),
    )


def _clear() -> pl.Expr:
    """From a slot on the flow starves, though it gets its share in a few slots."""
    hungry, known = pl.col("share") < STARVED_SHARE, pl.col("share").is_not_null()

    def rest(column: pl.Expr) -> pl.Expr:
        return column.cum_sum(reverse=True).over(*KEY, "other_flow")

    own, other = (rest(pl.when(known).then(name).otherwise(0.0)) for name in ("bits", "other_bits"))
    mostly = rest(hungry.fill_null(False)) >= MOSTLY * rest(known)
    return hungry & mostly & (own < CLEAR_SHARE * (own + other))


def _steady() -> pl.Expr:
    """The rate hardly differs from second to second, whatever the other flow does."""
    inner = pl.col("bits").slice(1, pl.len() - 2)
    deviation = (inner.std() / inner.mean()).fill_null(1.0).fill_nan(1.0)
    enough = (inner.len() >= STEADY_SLOTS) & (pl.col("rounds").median() >= STEADY_ROUNDS)
    large = pl.col("window").mean() > SMALL_WINDOW
    return (enough & large & (deviation < STEADY)).fill_null(False)


def _jain(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    return (a + b).pow(2) / (2 * (a.pow(2) + b.pow(2)))
