"""What each flow direction shows as a whole, its start included."""

from __future__ import annotations

import polars as pl

from l4strace.derive import company
from l4strace.derive.border import MIN_ECT0_MARKS

FAR_US = 8000.0
"""Beyond the border and the noise by this, a packet waited too long for jitter that was not seen to
be the reason. Measured: behind DualPI2 with up to 10 ms of jitter one flow of 70 has three such
rounds without a mark, and behind classic AQMs that mark nearly all packets each path has."""

MANY_ROUNDS = 5_000
"""Rounds from which those of flows without a verdict are left out: below, that costs more."""


def features(rounds: pl.DataFrame, wanted: pl.Series) -> pl.LazyFrame:
    """Largest queue and marks of each whole direction that is ``wanted``, its start included.

    `high_*`: rounds whose packets all waited beyond the border, what they acknowledged, their
    marks, and how many had none. `ect0_marks`: marks of all ECT(0) packets of the path, and
    `ect0_ratio`, their marked share over that of its ECT(1) packets; `ect0_most`: the largest
    marked share of one direction of them, with as many marks as that needs. `crossed`: rounds in
    which the queue passed the border long before the first mark. `far_unmarked`: rounds of all
    flows of the path with that codepoint whose packets waited far beyond the border, without a
    mark; `path_far_unmarked` of all that could be marked.
    """
    high, marked = company.high(), pl.col("marks") > 0
    late = pl.col("marking_us") - pl.col("mark_limit_us") > 2 * pl.col("noise_us").fill_null(0.0)
    below = pl.col("rtt_min_us") - pl.col("base_us") < pl.col("mark_limit_us")
    # What a flow waits at least may be a longer path of its own.
    own_us = pl.col("above_us") - (pl.col("floor_us") - pl.col("base_us"))
    far = (
        (own_us > FAR_US)
        & ~marked
        & (pl.col("acked_packets") >= company.ANSWERED_AT_ONCE)
        # Retransmissions leave without ECT (RFC 3168 section 6.1.5).
        & (pl.col("retransmits").fill_null(0) == 0)
        & (pl.col("marked_as") != "not_ect")
    ).fill_null(False)
    codepoints = rounds.group_by("at", "marked_as").agg(
        pl.col("marks", "acked_packets").sum(), far.sum().alias("far_unmarked")
    )
    # Two tables follow from it: it is made once.
    of_paths = codepoints.lazy()
    ect0, ect1 = (_share(codepoint) for codepoint in ("ect0", "ect1"))
    paths = of_paths.group_by("at").agg(
        pl.col("marks").filter(pl.col("marked_as") == "ect0").sum().alias("ect0_marks"),
        pl.when(ect1 > 0).then(ect0 / ect1).fill_nan(None).alias("ect0_ratio"),
        pl.col("far_unmarked").sum().alias("path_far_unmarked"),
    )
    own = rounds if rounds.height < MANY_ROUNDS else of_most(rounds, wanted)
    whole = (
        own.lazy()
        .group_by("of")
        .agg(
            pl.col("at", "marked_as").first(),
            high.sum().alias("high_rounds"),
            pl.col("acked_packets").filter(high).sum().alias("high_acked"),
            pl.col("marks").filter(high).sum().alias("high_marks"),
            (high & ~marked).sum().alias("high_unmarked"),
            (marked & late & below).fill_null(False).sum().alias("crossed"),
            pl.col("queue_delay_us").max().alias("queue_max_us"),
            pl.col("start_ns").min().alias("first_ns"),
            pl.col("start_ns").max().alias("last_ns"),
            pl.col("marks").sum().alias("all_marks"),
            pl.col("marking_us").min().alias("first_marking_us"),
        )
    )
    shown = pl.col("marks") >= MIN_ECT0_MARKS
    share = pl.col("marks") / pl.col("acked_packets")
    of_ect0 = rounds.lazy().select("of", "at", "marked_as", "marks", "acked_packets")
    most = (
        of_ect0.filter(pl.col("marked_as") == "ect0")
        .group_by("of")
        .agg(pl.col("at").first(), pl.col("marks", "acked_packets").sum())
        .group_by("at")
        .agg(share.filter(shown).max().alias("ect0_most"))
    )
    of_codepoint = of_paths.select("at", "marked_as", "far_unmarked")
    return (
        whole.join(of_codepoint, on=["at", "marked_as"], how="left", maintain_order="left")
        .join(paths, on="at", how="left", maintain_order="left")
        .join(most, on="at", how="left", maintain_order="left")
        .drop("at", "marked_as")
    )


def _share(codepoint: str) -> pl.Expr:
    """Marked share of all packets that left with ``codepoint``."""
    of = pl.col("marked_as") == codepoint
    return pl.col("marks").filter(of).sum() / pl.col("acked_packets").filter(of).sum()


def of_most(rounds: pl.DataFrame, wanted: pl.Series) -> pl.DataFrame:
    """``rounds`` without most that are of other directions than ``wanted``, as of short flows.

    Where most are wanted, a copy costs more than what the others cost.
    """
    own = rounds["of"].is_in(wanted.implode())
    return rounds.filter(own) if 2 * own.sum() < rounds.height else rounds
