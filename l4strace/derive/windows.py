"""How a sender's window follows its marks, round by round: what `laws` and `alphas` compare.

One reduction shows little: marks come in two rounds running, the window grows again before it is
seen, and what is in flight counts whole packets. So the window after every usable mark is predicted
from the share that a hypothesis gives up, and the errors of all predictions are added up.

A marked round is usable when it shows for certain whether Prague reduced: `isolated` (no mark in
the 25 ms before, the shortest time between two reductions), or in a run of marked rounds, where a
reduction follows a reduction. Rounds with losses and those of slow start are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from l4strace.core import _native
from l4strace.derive import company, numbers
from l4strace.derive.vantage import once
from l4strace.evidence import Capture, kept
from l4strace.prague.constants import GAIN_SHIFT
from l4strace.schema.keys import KEY, OF, of_round

TARGET_NS = 25_000_000
"""prague_rtt_target: a reduction that comes sooner after the last one is ignored."""

MIN_WINDOW = 4.0
"""Packets in flight from which the floor (0.3125) takes away more than one."""

GROWTH_MAX = 1.0
"""Packets that additive increase adds per round at most (prague_update_cwnd, RFC 5681)."""

GROWTHS = (0.0, 0.25, 0.5, 0.75, GROWTH_MAX)
"""Growth per round while every round has marks, where nothing shows it: marked packets do not count
and an RTT below 25 ms slows it down. Each law may have the one that suits it."""

ROUNDING, UNSTEADY = 0.7, 0.05
"""Smallest error of a prediction: two counts of whole packets are off by 0.4 each (a third of a
packet, uniform, twice); and by eye 5 % of the window for bursts."""

ROUNDED = 0.5
"""Packets in flight are the fractional window rounded up: half a packet more on average."""

CONTINUED = 0.8
"""Reductions per round (or per 25 ms where rounds are shorter) while every round has marks. CWR
ends with the first ACK beyond its own start: by eye, a fifth of a round later."""

GAUSSIAN, UNLIKELY = 2.0, 6.0
"""An error beyond two standard deviations counts linearly instead of quadratically, and one sample
at most six (nats): single rounds go wrong for reasons of their own. By eye."""

CLOCKS = ("alpha", "alpha_25ms")
"""Columns of alpha by the clock of builds up to 2022, and by the 25 ms of later ones."""

SAMPLE = ("group", "before", "after", "cuts", "growth", "error", "isolated")
"""Columns of a usable round that its cost follows from."""

SLICE = 1 << 16
"""Rounds that are compared with all laws at once: bounds the memory that this takes."""


@kept
def seen(capture: Capture) -> pl.DataFrame:
    """Rounds of ECT(1) senders, with marks, windows and what lies around each."""
    ect1 = pl.col("data_ect1").fill_null(0)
    others = pl.col("data_ect0").fill_null(0) + pl.col("data_not_ect").fill_null(0)
    directions = company.directions(capture)
    nearest = once(capture, directions).select(*KEY, nearest=pl.lit(True))
    near = directions.lazy().join(nearest.lazy(), on=KEY, how="left", maintain_order="left")
    wanted = near.select(sender=(ect1 > 0) & (ect1 >= others) & pl.col("nearest").fill_null(False))
    needed = (
        *("round", "start_ns", "end_ns", "rtt_mean_us", "inflight_max_packets", "acked_packets"),
        *("retransmits", "slow_start", "ce_best", "limited_by"),
        *("alpha", "alpha_updates", "alpha_25ms", "alpha_25ms_updates"),
        *("classic_ecn", "classic_ecn_buggy"),
    )
    sent = numbers.sent(capture, wanted.collect().to_series(), needed)
    rounds = sent.lazy().with_columns(
        marked=pl.col("ce_best").fill_null(0) > 0,
        before=pl.col("inflight_max_packets").cast(pl.Float64),
    )
    lost = pl.col("retransmits").fill_null(0) > 0
    marked, window = pl.col("marked"), pl.col("before")
    around = rounds.with_columns(
        next=of_round(1, window, OF),
        lowest=pl.min_horizontal(of_round(1, window, OF), of_round(2, window, OF)),
        lossy=pl.any_horizontal(lost, *(of_round(n, lost, OF) for n in (-1, 1, 2))),
        quiet=~pl.any_horizontal(marked, *(of_round(n, marked, OF) for n in (-1, 1, 2))),
        running=marked & of_round(-1, marked, OF) & of_round(-2, marked, OF),
        marked_ns=of_round(-1, pl.when(marked).then("end_ns"), OF),
    ).with_columns(since_ns=pl.col("start_ns") - pl.col("marked_ns").forward_fill().over("of"))
    return around.collect()


@kept
def usable(capture: Capture) -> pl.DataFrame:
    """Marked rounds that show a response, with `after`, `growth`, `error` and `cuts` expected."""
    rounds = seen(capture).lazy()
    change = pl.col("lowest") - pl.col("before")
    quiet = pl.col("quiet") & ~pl.col("lossy") & ~pl.col("slow_start").fill_null(False)
    calm = (
        rounds.filter(quiet)
        .select("of", growth=change.clip(-3, 3), noise=(change - change.median().over("of")).abs())
        .group_by("of")
        .agg(pl.col("growth").mean().clip(0, GROWTH_MAX), pl.col("noise").mean())
    )
    # Each round's own RTT: a queue that grows makes rounds of 10 ms last for 25 ms and more.
    rtt = pl.col("rtt_mean_us")
    periods = (rtt.fill_null(rtt.median().over("of")) * 1e3 / TARGET_NS).clip(0, 1)
    ready = (
        rounds.with_columns(
            isolated=(pl.col("since_ns") >= TARGET_NS).fill_null(True), periods=periods
        )
        .filter(
            pl.col("marked")
            & (pl.col("isolated") | pl.col("running").fill_null(False))
            & ~pl.col("lossy").fill_null(False)
            & ~pl.col("slow_start").fill_null(False)
            & (pl.col("before") >= MIN_WINDOW)
        )
        .join(calm, on="of", how="left", maintain_order="left")
    )
    steady = pl.col("before") * UNSTEADY
    shown = ready.with_columns(
        growth=pl.col("growth").fill_null(GROWTH_MAX),
        error=pl.max_horizontal(pl.lit(ROUNDING), "noise", steady),
        cuts=pl.when("isolated").then(1.0).otherwise(CONTINUED * pl.col("periods")),
        after=pl.when("isolated").then("lowest").otherwise("next"),
    )
    return shown.drop_nulls("after").with_columns(left()).collect()


def left() -> list[pl.Expr]:
    """The part of alpha that is `left` of its start by each clock, for `alpha`."""
    return [
        ((1 - 0.5**GAIN_SHIFT) ** pl.col(f"{name}_updates").cast(pl.Float64)).alias(f"{name}_left")
        for name in CLOCKS
    ]


def alpha(paced: bool, from_zero: bool, bound: str = "") -> pl.Expr:
    """Alpha as one build computes it; ``bound`` is empty, `_lo` or `_hi`, as in `rounds`."""
    name = CLOCKS[paced]
    left = pl.col(f"{name}_left") if from_zero else 0.0
    return (pl.col(f"{name}{bound}") - left).clip(0, 1)


def log_likelihoods(
    usable: pl.DataFrame, by: Sequence[str], fractions: Mapping[str, pl.Expr]
) -> pl.DataFrame:
    """One row per group of ``by``, one column per law: log-likelihood of all its samples (nats).

    ``fractions`` are the shares of the window that each law gives up, by its name; the constant
    that all laws share is left out. ``usable`` has at least one row.
    """
    groups = usable.select(by).unique(maintain_order=True).with_row_index("group")
    numbered = usable.join(groups, on=by, how="left", maintain_order="left")
    costs = _native.Costs(
        groups.height,
        list(fractions),
        growths=GROWTHS,
        rounded=ROUNDED,
        gaussian=GAUSSIAN,
        unlikely=UNLIKELY,
    )
    for rows in numbered.iter_slices(SLICE):
        costs.add(rows.select(SAMPLE), rows.select(**fractions))
    return groups.drop("group").hstack(pl.DataFrame(costs.log_likelihoods()))


def given() -> pl.Expr:
    """Share of the window that was given up, growth added back."""
    return 1 - (pl.col("after") - pl.col("growth") - ROUNDED) / (pl.col("before") - ROUNDED)
