"""What `native/src/measure` works out, in polars expressions: the oracle of its tests."""

from __future__ import annotations

import math

import polars as pl

from l4strace.derive.company import high, packet_us
from l4strace.derive.first_packets import MIN_FIRST
from l4strace.evidence import Capture
from l4strace.schema.keys import of_round

LOW = 0.1
BIN_NS, APART_US, APART_PACKETS, BACKLOG_PACKETS, OUTRUN = 100_000_000, 1000.0, 2, 2, 2.0
RATES = ("rate", "waiting_rate", "waiting_rtt")
MIN_SLOT_NS, SLOT_ROUNDS, SLOT_PACKETS, MOST_SLOTS = 100_000_000, 2, 40, 1 << 14
OVERRUN, PROBE_PACKETS, ONE_TRAIN, GROWTH, UNEVEN = 1.1, 8, 24, (0.3, 0.8), 1.5


def neighbours(rounds: pl.DataFrame) -> pl.DataFrame:
    """As `company.neighbours`."""
    slots = _waits_by_slot(rounds)
    result = slots.select("of").unique()
    for name, member in (
        ("scalable", pl.col("marked_as") == "ect1"),
        ("classic", pl.col("marked_as") != "ect1"),
    ):
        result = result.join(_company(slots, member, name), on="of", how="left")
    return result


def _waits_by_slot(rounds: pl.DataFrame) -> pl.DataFrame:
    length = (pl.col("end_ns") - pl.col("start_ns")).median().over("of")
    markable = pl.col("marked_as") != "not_ect"
    width = (2 * length.max().over("at")).clip(lower_bound=BIN_NS)
    return (
        rounds.with_columns((pl.col("start_ns") / width).floor().cast(pl.Int64).alias("slot"))
        .group_by("of", "at", "marked_as", "slot")
        .agg(
            pl.col("queue_delay_us").mean(),
            pl.col("marks").sum(),
            pl.col("marking_us").min().alias("mark_queue_us"),
            (high() & markable).sum().cast(pl.Int64).alias("high"),
            (high() & markable & (pl.col("marks") == 0))
            .sum()
            .cast(pl.Int64)
            .alias("high_unmarked"),
            pl.col("phase").first(),
            (pl.col("floor_us") - pl.col("base_us")).first().alias("least_seen_us"),
            *_rates(),
            # One round may lie at the edge of the slot, where others have none.
            *(pl.when(pl.len() >= 2).then(end).alias(name) for name, end in _range().items()),
        )
        .drop_nulls("queue_delay_us")
    )


def _range() -> dict[str, pl.Expr]:
    """Shortest and longest wait of a slot, kept apart by the margin that two queues need."""
    margin = pl.max_horizontal(pl.lit(APART_US), APART_PACKETS * packet_us()).max()
    least, most = (pl.col(f"rtt_{end}_us") - pl.col("base_us") for end in ("min", "max"))
    return {"least_us": least.min(), "most_us": most.max() + margin}


def _rates() -> list[pl.Expr]:
    """Rate of a flow in a slot; rate and RTT where it had packets in the queue all the time."""
    length = (pl.col("end_ns") - pl.col("start_ns")).sum()
    rate = pl.when(length > 0).then(pl.col("acked_bytes").sum() * 8e9 / length)
    wait = pl.col("rtt_min_us") - pl.col("base_us")
    holds = (wait > BACKLOG_PACKETS * packet_us()).all()
    waits = holds & ~pl.col("limited_by").is_in(["app", "rwnd"]).any()
    rtt = (pl.col("base_us") + pl.col("queue_delay_us")).mean()
    return [
        rate.alias("rate"),
        pl.when(waits).then(rate).alias("waiting_rate"),
        pl.when(waits).then(rtt).alias("waiting_rtt"),
    ]


def _company(slots: pl.DataFrame, member: pl.Expr, name: str) -> pl.DataFrame:
    """Neighbours of one class, every direction's own part taken out of the sums."""
    where = ["at", "slot"]
    sums = (
        slots.filter(member)
        .group_by(where)
        .agg(
            pl.col("queue_delay_us").sum().alias("all_queue"),
            pl.col("least_seen_us").sum().alias("all_least_seen"),
            pl.len().cast(pl.Int64).alias("all_count"),
            pl.col("marks").sum().alias("all_marks"),
            pl.col(RATES).sum().name.prefix("all_"),
            pl.col("waiting_rate").count().cast(pl.Int64).alias("all_waiting"),
            pl.col("mark_queue_us").min().alias("all_mark_queue"),
            (pl.col("marked_as") == "ect0").sum().cast(pl.Int64).alias("all_ect0"),
            pl.col("high", "high_unmarked").sum().cast(pl.Int64).name.prefix("all_"),
            pl.col("least_us").max().alias("all_least"),
            pl.col("most_us").min().alias("all_most"),
        )
    )
    own = member.cast(pl.Int64)
    own_ect0 = (pl.col("marked_as") == "ect0").cast(pl.Int64)
    others = slots.join(sums, on=where, how="inner").with_columns(
        (pl.col("all_count") - own).alias("count"),
        (pl.col("all_marks") - own * pl.col("marks")).alias("other_marks"),
    )
    others = others.filter(pl.col("count") > 0).with_columns(
        ((pl.col("all_queue") - own * pl.col("queue_delay_us")) / pl.col("count")).alias(
            "other_queue"
        )
    )
    others = others.with_columns(
        _about_phase("queue_delay_us").alias("own_move"),
        _about_phase("other_queue").alias("other_move"),
    )
    waiting = pl.col("all_waiting") - own * pl.col("waiting_rate").is_not_null()
    others = others.with_columns(
        _ratio("rate", own, pl.col("count")),
        *(_ratio(of, own, waiting) for of in ("waiting_rate", "waiting_rtt")),
    )
    within = pl.corr("own_move", "other_move", method="spearman").fill_nan(None)
    marked = pl.col("other_marks") > 0
    mark_delay = pl.col("all_mark_queue").filter(marked).quantile(LOW)
    return others.group_by("of").agg(
        pl.len().cast(pl.Int64).alias(f"{name}_slots"),
        pl.col("other_queue").median().alias(f"{name}_queue_us"),
        pl.col("queue_delay_us").median().alias(f"{name}_own_queue_us"),
        ((pl.col("all_least_seen") - own * pl.col("least_seen_us")) / pl.col("count"))
        .median()
        .alias(f"{name}_least_us"),
        pl.corr("queue_delay_us", "other_queue").fill_nan(None).alias(f"{name}_corr"),
        (
            (pl.col("queue_delay_us") - pl.col("other_queue")).abs().sum()
            / pl.max_horizontal("queue_delay_us", "other_queue").sum()
        )
        .fill_nan(None)
        .alias(f"{name}_gap"),
        pl.col("other_marks").sum().alias(f"{name}_marks"),
        (pl.col("other_marks") > 0).sum().cast(pl.Int64).alias(f"{name}_marked_slots"),
        *(
            (pl.col(f"all_{high}") - own * pl.col(high))
            .sum()
            .cast(pl.Int64)
            .alias(f"{name}_{high}")
            for high in ("high", "high_unmarked")
        ),
        (pl.col("all_ect0") > own * own_ect0).sum().cast(pl.Int64).alias(f"{name}_ect0"),
        (pl.col("marks") > 0).sum().cast(pl.Int64).alias(f"{name}_own_marked"),
        mark_delay.alias(f"{name}_mark_delay_us"),
        marked.filter(pl.col("other_queue") >= mark_delay).mean().alias(f"{name}_stepped"),
        pl.when(pl.col("phase").n_unique() > 1).then(within).alias(f"{name}_within"),
        _apart().alias(f"{name}_apart"),
        *_served(name),
    )


def _ratio(of: str, own: pl.Expr, count: pl.Expr) -> pl.Expr:
    """Logarithm of a direction's value over the mean of the ``count`` others that have one."""
    mine = pl.col(of)
    mean = (pl.col(f"all_{of}") - own * mine.fill_null(0.0)) / count
    known = (count > 0) & (mine > 0) & (mean > 0)
    return pl.when(known).then((mine / mean).log()).alias(f"{of}_ratio")


def _served(name: str) -> list[pl.Expr]:
    """What the rates of a direction and of the others say of who is served when."""
    uneven, unlike = pl.col("waiting_rate_ratio"), pl.col("waiting_rtt_ratio")
    slower = (pl.col("rate_ratio") < -math.log(OUTRUN)).fill_null(False)
    faster = (pl.col("rate_ratio") > math.log(OUTRUN)).fill_null(False)
    return [
        uneven.count().cast(pl.Int64).alias(f"{name}_waiting"),
        (uneven**2).mean().sqrt().alias(f"{name}_uneven"),
        (unlike**2).mean().sqrt().alias(f"{name}_unlike"),
        ((pl.col("marks") > 0) & slower).sum().cast(pl.Int64).alias(f"{name}_outrun"),
        ((pl.col("other_marks") > 0) & faster).sum().cast(pl.Int64).alias(f"{name}_outruns"),
    ]


def _apart() -> pl.Expr:
    """Part of the slots in which the waits of a flow and of one of the others do not meet."""
    longer = pl.col("all_least") > pl.col("most_us")
    shorter = pl.col("least_us") > pl.col("all_most")
    return (longer | shorter).mean()


def _about_phase(queue: str) -> pl.Expr:
    """Queue delays of a direction about their mean in each phase of the path."""
    return pl.col(queue) - pl.col(queue).mean().over("of", "phase")


def begun_beside(capture: Capture, rounds: pl.DataFrame, long: pl.DataFrame) -> pl.DataFrame:
    """As `first_packets.begun_beside`."""
    firsts = _firsts(capture, rounds)
    many = firsts.filter(pl.len().over("at") > MIN_FIRST)["at"].unique()
    rounds = rounds.filter(pl.col("at").is_in(many.implode()))
    smallest = rounds.group_by("at").agg(pl.col("floor_us").min().alias("smallest_us"))
    firsts = firsts.join(smallest, on="at").with_columns(
        (pl.col("rtt_min_us") - pl.col("smallest_us")).alias("first_us")
    )
    own = rounds.filter(pl.col("of").is_in(long["of"].implode()))
    length = (pl.col("end_ns") - pl.col("start_ns")).median().over("of")
    width = own.group_by("at").agg((2 * length.max()).clip(lower_bound=BIN_NS).alias("ns"))
    beyond = pl.max_horizontal("margin_us", "noise_us")
    met = pl.col("first_us") >= pl.col("least_us") - pl.col("margin_us")
    passed = pl.col("first_us") + beyond < pl.col("least_us")
    return (
        _waits(own.join(width, on="at"))
        .join(_earliest(firsts.join(width, on="at")), on=["at", "slot"])
        .filter((pl.col("least_us") > beyond) & (pl.col("begun") != pl.col("of")))
        .group_by("of")
        .agg(
            pl.len().alias("first_slots"),
            met.sum().alias("first_met"),
            passed.sum().alias("first_passed"),
            (_span("least_us") - _span("first_us")).alias("first_apart_us"),
        )
    )


def _firsts(capture: Capture, rounds: pl.DataFrame) -> pl.DataFrame:
    """First round of each direction whose handshake was seen."""
    began = capture.flows.filter(pl.col("handshake") != "none").select("source", "flow")
    return (
        rounds.select("source", "flow", "of", "at", "round", "end_ns", "rtt_min_us")
        .filter(pl.col("round") == 0)
        .join(began, on=["source", "flow"], how="semi")
        .drop_nulls("rtt_min_us")
    )


def _waits(own: pl.DataFrame) -> pl.DataFrame:
    """Shortest wait of each direction in the rounds of a slot and those beside them."""
    least = pl.min_horizontal(of_round(step, pl.col("rtt_min_us")) for step in (-1, 0, 1))
    margin = pl.max_horizontal(pl.lit(APART_US), APART_PACKETS * packet_us())
    return (
        own.with_columns((least - pl.col("floor_us")).alias("least_us"), margin.alias("margin_us"))
        .group_by("of", "at", _slot_of_end())
        .agg(pl.col("least_us").min(), pl.col("margin_us", "noise_us").max())
    )


def _earliest(firsts: pl.DataFrame) -> pl.DataFrame:
    """Shortest first wait of each slot, and whose it was."""
    return (
        firsts.sort("first_us")
        .group_by("at", _slot_of_end(), maintain_order=True)
        .agg(pl.col("first_us").first(), pl.col("of").first().alias("begun"))
    )


def _slot_of_end() -> pl.Expr:
    return (pl.col("end_ns") / pl.col("ns")).floor().cast(pl.Int64).alias("slot")


def _span(column: str) -> pl.Expr:
    return pl.col(column).max() - pl.col(column).min()
