"""What identifies the bottleneck: marks, delays, rates and neighbours of each flow direction.

Packets only: nothing here reads `capture.kernel`.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import (
    company,
    first_packets,
    noise,
    one_way,
    phases,
    queue_delay,
    whole_flows,
)
from l4strace.derive.unmarked import DEEP_QUEUE, QUEUE_US
from l4strace.evidence import Capture
from l4strace.schema.keys import DIRECTION, KEY, OF, of_round

LOW, HIGH = 0.1, 0.9
"""Quantiles in place of smallest and largest, which one odd round decides. By eye."""

LARGEST = 0.99
"""As above, of all rounds: the full buffer, which few rounds see."""

L4S_MARK_US = 3000.0
"""Border of marking delays: DualPI2 marks at a step of 1 ms (RFC 9332 appendix A.1) or, configured
for slow and bursty links, 2 ms; CoDel from 5 ms (RFC 8289), RED and PIE about there or later. ACKs
report a mark up to a packet late, so the border is above the longest step."""

PACKETS = 2.25
"""On a slow link the border is this many times of a packet: DualPI2 marks no queue of one packet,
so one waits and one is sent when it marks (sch_dualpi2.c, must_drop and step by packets). Measured:
at most 1.9 behind DualPI2 at 4 and 5 Mbit/s; CoDel's 5 ms are 2.25 packets at 5.5 Mbit/s."""

NEEDED = (
    *KEY,
    *("path", "marked_as", "round", "start_ns", "end_ns", "acked_packets", "acked_bytes", "marks"),
    *("ece_acks", "retransmits", "limited_by", "queue_delay_us", "rtt_min_us", "rtt_max_us"),
    *("marked_rtt_min_us", "marked_owd_min_us", "owd_min_us", "owd_mean_us", "owd_max_us"),
    *("base_us", "floor_us", "floor_rise_us"),
    *("sacked_rtt_max_us", "of", "at"),
)
"""Columns of a round that are asked for: every join and filter copies all that are there."""

MANY_MARKS, STARVED_S = 10, 2.0
"""Marks that show where marking sets in however few packets a flow sends: a tenth of them is one;
and how long a flow with so few lasts that starves. By eye."""

PARTS = 10
"""Parts of a direction's time in which marks are looked for: tenths."""


def rounds(capture: Capture) -> pl.DataFrame:
    """The rounds that features are made of, with `phase` and `steady` (it follows the start)."""
    seen = queue_delay.singles(capture).select(NEEDED)
    whole = _marking(one_way.without_acks(seen, one_way.bases(capture)))
    return phases.assigned(capture, whole).with_columns(steady=queue_delay.steady(capture))


def features(capture: Capture, of_rounds: pl.DataFrame | None = None) -> pl.DataFrame:
    """Everything that the verdict looks at, one row a direction with enough steady rounds.

    ``of_rounds``: those of `rounds` that count; all where it is left out.
    """
    every = rounds(capture) if of_rounds is None else of_rounds
    steady = every.filter("steady")
    rated = _rated(capture, steady, queue_delay.steady_rates(capture))
    all_rated = _rated(capture, every, company.rates(every))
    whole_path = (
        rated.lazy()
        .group_by("at")
        .agg(*_losses("path_"), _lost().alias("path_lost"), _queued_losses())
    )
    # What a buffer drops leaves no RTT but those that SACK shows.
    highest = pl.max_horizontal("queue_delay_us", pl.col("sacked_rtt_max_us") - pl.col("base_us"))
    peak = (
        all_rated.lazy()
        .group_by("at")
        .agg(
            path_max_us=highest.max(),
            path_marks=pl.col("marks").sum(),
            path_losses=_lost(),
            path_acked=pl.col("acked_packets").sum(),
            path_peak_ns=pl.col("start_ns").sort_by(highest, nulls_last=False).last(),
        )
    )
    own = _own(rated)
    joined = (
        own.lazy()
        .join(
            whole_flows.features(all_rated, own["of"]), on="of", how="left", maintain_order="left"
        )
        .join(whole_path, on="at", how="left", maintain_order="left")
        .join(peak, on="at", how="left", maintain_order="left")
        .join(
            one_way.marked_between(capture).lazy(),
            on=["source", "path"],
            how="left",
            maintain_order="left",
        )
        .with_columns(
            pl.coalesce("ect0_between", "ect0_marks").alias("ect0_marks"),
            pl.coalesce("ect0_between_ratio", "ect0_ratio").alias("ect0_ratio"),
            pl.col("ect0_between_ratio").is_not_null().alias("ect0_counted"),
            pl.col("ect0_parts").max().over("at"),
            pl.col("path_peak_ns").is_between("first_ns", "last_ns").alias("met_peak"),
        )
        .drop("path", "ect0_between", "ect0_between_ratio", "path_peak_ns", "first_ns", "last_ns")
    )
    own = joined.collect()
    full = own.filter(pl.col("acked") >= company.MIN_STEADY_PACKETS)["of"]
    near = rated.lazy().with_columns(rate_bps="carried_bps")
    near = near.filter(pl.col("of").is_in(full.implode()))
    whole = (
        own.lazy()
        .drop("at")
        .join(
            first_packets.begun_beside(capture, all_rated, own).lazy(),
            on="of",
            how="left",
            maintain_order="left",
        )
        .join(company.neighbours(near).lazy(), on="of", how="left", maintain_order="left")
        .drop("of")
        .join(_carried(capture), on=KEY, how="left", maintain_order="left")
        .join(one_way.delays(capture).lazy(), on=KEY, how="left", maintain_order="left")
        .join(noise.table(capture).lazy().drop("rounds"), on=KEY, how="left", maintain_order="left")
        .sort(KEY)
    )
    return whole.collect()


def few_rounds(capture: Capture, known: pl.DataFrame) -> pl.DataFrame:
    """Directions beside ``known`` that sent enough packets in too few round trips after the start.

    One row each, with `path`, `marked_as`, `rounds`, `acked`, `marks`, `losses`, `queue_delay_us`.
    """
    return (
        queue_delay.singles(capture)
        .lazy()
        .group_by("of")
        .agg(
            pl.col(*KEY, "path", "marked_as").first(),
            pl.len().alias("rounds"),
            pl.col("acked_packets").sum().alias("acked"),
            pl.col("marks").sum(),
            pl.col("retransmits").fill_null(0).sum().alias("losses"),
            pl.col("queue_delay_us").median(),
        )
        .filter(
            (pl.col("acked") >= company.MIN_ACKED_PACKETS)
            # A starved flow sends less in as many round trips; short flows in few.
            | (
                (pl.col("acked") >= company.MIN_STEADY_PACKETS)
                & (pl.col("rounds") >= company.MIN_ROUNDS)
            )
        )
        .join(known.lazy().select(KEY), on=KEY, how="anti")
        .drop("of")
        .sort(KEY)
        .collect()
    )


def _rated(capture: Capture, rounds: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """Rounds with `rate_bps` of their path, `carried_bps`, `mark_limit_us` and `above_us`.

    Flows that never filled the path deliver less than it carries, so its capacity counts; in
    `carried_bps` that of the round's own phase, as the time of a packet is another in each.
    `above_us`: what every packet of the round waited beyond the border and the noise.
    """
    directions = (
        phases.sized(capture)
        .lazy()
        .join(rates.lazy(), on="at", how="left", maintain_order="left")
        .select(pl.max_horizontal("rate_bps", "capacity_bps").alias("rate_bps"), "noise_us")
        .collect()
    )
    rated = rounds.hstack(directions[rounds["of"]])
    carried, bps = phases.carried(capture), pl.col("rate_bps")
    if not carried.is_empty():
        on = ["source", "path", "phase"]
        rated = rated.join(carried, on=on, how="left", maintain_order="left")
        bps = pl.coalesce("carried_bps", bps)
    limit = pl.max_horizontal(pl.lit(L4S_MARK_US), PACKETS * company.packet_us(bps))
    above = pl.col("rtt_min_us") - pl.col("base_us") - limit
    return rated.with_columns(
        bps.alias("carried_bps"),
        limit.alias("mark_limit_us"),
        (above - pl.col("noise_us")).alias("above_us"),
    )


def _marking(rounds: pl.DataFrame) -> pl.DataFrame:
    """Rounds with `marking_us`, the smallest queue delay at which an ACK reported a mark.

    And with `top_us`, the largest queue delay of a round and the two before it, and `at_loss_us`,
    that of the packets that SACK reports there: they waited right behind what was lost, and the
    receiver answers each at once (RFC 5681 section 4.2). The packet before a hole is answered late,
    as the one after it is missing. Where only one of the two shows a delay it is both.
    """
    marked = (pl.col("marked_rtt_min_us") - pl.col("base_us")).clip(lower_bound=0)
    # Where no ACK with a mark has an RTT, the round as a whole has to do.
    known = pl.col("marked_rtt_min_us").is_not_null().any().over("of")
    marking = pl.when(known).then(marked).otherwise("queue_delay_us")
    # Loss shows a round trip after the queue that dropped the packet.
    top = pl.col("rtt_max_us") - pl.col("base_us")
    behind = pl.col("sacked_rtt_max_us") - pl.col("base_us")
    # What is faster than the empty path overtook others, and waited for nothing.
    behind = pl.when(behind > -QUEUE_US).then(behind.clip(lower_bound=0))
    top, behind = (
        pl.max_horizontal(one, *(of_round(-n, one, OF) for n in (1, 2))) for one in (top, behind)
    )
    return rounds.with_columns(
        pl.when(pl.col("marks") > 0).then(marking).alias("marking_us"),
        pl.coalesce(top, behind).alias("top_us"),
        pl.coalesce(behind, top).alias("at_loss_us"),
    )


def _own(rounds: pl.DataFrame) -> pl.DataFrame:
    """What a direction's own rounds show."""
    # A starved flow sends few packets for long, a short one for a moment.
    starved = (pl.col("marks") >= MANY_MARKS) & (pl.col("seconds") >= STARVED_S)
    enough = (pl.col("rounds") >= company.MIN_STEADY) & (
        (pl.col("acked") >= company.MIN_STEADY_PACKETS) | starved
    )
    begin = pl.col("start_ns").min()
    length = pl.col("start_ns").max() - begin + 1
    size = {
        "rounds": pl.len(),
        "acked": pl.col("acked_packets").sum(),
        "marks": pl.col("marks").sum(),
        "seconds": length / 1e9,
    }
    if rounds.height >= whole_flows.MANY_ROUNDS:
        rounds = whole_flows.of_most(rounds, rounds.group_by("of").agg(**size).filter(enough)["of"])
    queue, marked = pl.col("queue_delay_us"), pl.col("marks") > 0
    part = (pl.col("start_ns") - begin.over("of")) * PARTS // length.over("of")
    parts = pl.col("part").filter(marked).n_unique()
    marking = pl.col("marking_us")
    return (
        rounds.lazy()
        .with_columns(part.alias("part"))
        .group_by("of")
        .agg(
            pl.col(*KEY, "path", "at").first(),
            pl.col("rate_bps").first(),
            _border().alias("mark_limit_us"),
            queue.median().alias("queue_delay_us"),
            queue.quantile(HIGH).alias("queue_high_us"),
            marking.quantile(LOW).alias("marking_delay_us"),
            marking.median().alias("marking_median_us"),
            marked.filter(queue >= marking.quantile(LOW)).mean().alias("stepped"),
            (pl.col("floor_rise_us") <= queue_delay.FLAT_US).first().alias("flat"),
            pl.col("floor_us", "base_us").first(),
            marked.sum().alias("marked_rounds"),
            parts.alias("marked_parts"),
            pl.when(pl.col("marked_as").first() == "ect0").then(parts).alias("ect0_parts"),
            pl.col("marks").filter(marked).mean().alias("marks_per_round"),
            pl.col("acked_packets").filter(marked).mean().alias("acked_per_marked_round"),
            pl.col("ece_acks").is_not_null().any().alias("classic_feedback"),
            _lost().alias("lost"),
            *_losses(""),
            pl.col("top_us").quantile(LARGEST),
            pl.col("limited_by").is_in(["app", "rwnd"]).mean().alias("self_limited"),
            **size,
        )
        .filter(enough)
        .collect()
    )


def _border() -> pl.Expr:
    """Border of the shortest marking delays: that of the fastest phase with enough of the marks."""
    limit = pl.col("mark_limit_us")
    of_marks = limit.filter(pl.col("marks") > 0).quantile(2 * LOW, interpolation="higher")
    return pl.coalesce(of_marks, limit.median())


def _lost() -> pl.Expr:
    return pl.col("retransmits").fill_null(0).sum()


def _losses(of: str) -> list[pl.Expr]:
    """How long the queue was where packets were lost: what waited behind them, the range at most.

    Whether losses come at one height is asked of the largest delays: a full buffer is the largest.
    """
    lost, top = pl.col("retransmits") > 0, pl.col("top_us")
    return [
        lost.sum().alias(f"{of}lost_rounds"),
        top.filter(lost).quantile(LOW).alias(f"{of}lost_low_us"),
        pl.col("at_loss_us").filter(lost).median().alias(f"{of}lost_us"),
        top.filter(lost).quantile(HIGH).alias(f"{of}lost_high_us"),
    ]


def _queued_losses() -> pl.Expr:
    """Share of the path's lost packets that were lost where a queue stood."""
    lost = pl.col("retransmits").fill_null(0)
    queued = (pl.col("at_loss_us") >= DEEP_QUEUE * QUEUE_US).fill_null(False)
    share = lost.filter(queued).sum() / lost.sum()
    return share.fill_nan(None).alias("path_queued_losses")


def _carried(capture: Capture) -> pl.LazyFrame:
    """Path and codepoint of a direction, and whether the path erases codepoints."""
    erased_syn = (
        pl.when("forward")
        .then((pl.col("syn_ecn") > 0) & (pl.col("syn_arrived_ecn") == 0))
        .otherwise((pl.col("synack_ecn") > 0) & (pl.col("synack_arrived_ecn") == 0))
    )
    counted = pl.sum_horizontal("e1b_bytes", "e0b_bytes", "ceb_bytes")
    uncounted = (
        pl.col("e1b_bytes").is_not_null()
        & (counted == 0)
        & (pl.col("acked_bytes") > company.MIN_ACKED_PACKETS * 1000)
    )
    erased = (erased_syn.fill_null(False) | uncounted).any().over("source", "path")
    began = (pl.col("handshake") != "none").any().over("source", "path")
    mangled = company.counters(capture)
    return (
        company.directions(capture)
        .lazy()
        .join(mangled.lazy(), on=KEY, how="left", maintain_order="left")
        .select(
            *KEY,
            "path",
            "marked_as",
            began.alias("began"),
            erased.alias("erased"),
            pl.col("mangled").fill_null(False).any().over("source", "path").alias("cleared"),
            (pl.col("mangled") & pl.col("option_mss").is_null()).fill_null(False).alias("deaf"),
            pl.col("retransmits").alias("losses"),
            # A capture that began late may have missed what another one shows.
            pl.col("data_ce").fill_null(0).max().over(DIRECTION).alias("seen_marks"),
            pl.col("retransmits").fill_null(0).max().over(DIRECTION).alias("seen_losses"),
        )
    )
