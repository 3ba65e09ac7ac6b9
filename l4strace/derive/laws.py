"""The `laws` table: how an ECT(1) sender's window responds to marks, over its whole trajectory.

One reduction shows little: marks come in two rounds running, the window grows again before it is
seen, and what is in flight counts whole packets. So the window after every usable mark is predicted
under each hypothesis, and the likelihoods of the hypotheses are compared.

A marked round is usable when it shows for certain whether Prague reduced: `isolated` (no mark in
the 25 ms before, the shortest time between two reductions), or in a run of marked rounds, where a
reduction follows a reduction. Rounds with losses and those of slow start are left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from l4strace.derive.vantage import once, rounds
from l4strace.evidence import Capture
from l4strace.prague.constants import CUT_FLOOR, GAIN_SHIFT, SCALABLE_THRESHOLD
from l4strace.schema.evidence import LAWS
from l4strace.schema.keys import KEY, of_round

TARGET_NS = 25_000_000
"""prague_rtt_target: a reduction that comes sooner after the last one is ignored."""

MIN_WINDOW = 4.0
"""Packets in flight from which the floor (0.3125) takes away more than one."""

SETTLED = 8
"""Rounds after the first mark that are left out: slow start ends there, and builds halve the
window at the first mark by rules of their own. By eye: three round trips and the ramp of the
reduction."""

GROWTH_MAX = 1.0
"""Packets that additive increase adds per round at most (prague_update_cwnd, RFC 5681)."""

GROWTHS = (0.0, 0.25, 0.5, 0.75, GROWTH_MAX)
"""Growth per round while every round has marks, where nothing shows it: marked packets do not count
and an RTT below 25 ms slows it down. Each law may have the one that suits it."""

ROUNDING, UNSTEADY = 0.7, 0.05
"""Smallest error of a prediction: two counts of whole packets are off by 0.4 each (a third of a
packet, uniform, twice); and by eye 5 % of the window for bursts."""

CONTINUED = 0.8
"""Reductions per round (or per 25 ms where rounds are shorter) while every round has marks. CWR
ends with the first ACK beyond its own start: by eye, a fifth of a round later."""

GAUSSIAN, UNLIKELY = 2.0, 6.0
"""An error beyond two standard deviations counts linearly and one sample at most six (nats): single
rounds go wrong for reasons of their own. By eye."""

ENOUGH, LEAD, LEAD_EACH = 10, 10.0, 0.1
"""Rounds, log-likelihood ahead of other laws (odds of 20,000 to 1), and that per round: a small
bias of the model adds up over thousands of rounds. By eye, from the runs of the lab, where a law
that is right leads by 0.6 to 6 per round."""

MISFIT = 1.5
"""Mean cost (nats) per round up to which the best law explains the window at all: a Gaussian error
costs 0.5. By eye."""

FROM_ONE, FROM_ZERO, PACED = "alpha", "alpha from 0", "alpha_25ms"
FLOORS = ("fixed", "buggy", "always")


@dataclass(frozen=True)
class Law:
    """One hypothesis: the share of the window that a reduction gives up."""

    name: str
    family: str
    fraction: pl.Expr


def table(capture: Capture) -> pl.DataFrame:
    """One row per direction of an ECT(1) sender with usable marks, seen nearest to the sender."""
    usable = _usable(_rounds(capture))
    if usable.is_empty():
        return LAWS.empty()
    laws = _laws()
    judged = usable.group_by(KEY, maintain_order=True).agg(
        pl.len().alias("samples"),
        pl.col("isolated").sum(),
        pl.col("before").median().alias("window_packets"),
        _given().filter("isolated").median().alias("fraction"),
        (pl.col("alpha") / 2).median().alias("half_alpha"),
        pl.col("start_ns").min().alias("first_ns"),
        pl.col("end_ns").max().alias("last_ns"),
        *(_log_likelihood(law.fraction).alias(law.name) for law in laws),
    )
    return LAWS.conform(_decided(_by_family(judged, laws)))


def _rounds(capture: Capture) -> pl.DataFrame:
    """Rounds of ECT(1) senders, with marks, windows and what lies around each."""
    ect1 = pl.col("data_ect1").fill_null(0)
    others = pl.col("data_ect0").fill_null(0) + pl.col("data_not_ect").fill_null(0)
    senders = once(capture, capture.directions.filter((ect1 > 0) & (ect1 >= others)))
    needed = (
        *("round", "start_ns", "end_ns", "rtt_mean_us", "inflight_max_packets", "acked_packets"),
        *("retransmits", "slow_start", "ce_best", "alpha", "alpha_25ms"),
        *("classic_ecn", "classic_ecn_buggy"),
    )
    mine = rounds(capture).select(*KEY, *needed).join(senders, on=KEY, how="semi")
    seen = mine.sort(*KEY, "round").with_columns(
        marked=pl.col("ce_best").fill_null(0) > 0,
        before=pl.col("inflight_max_packets").cast(pl.Float64),
    )
    lost = pl.col("retransmits").fill_null(0) > 0
    marked, window = pl.col("marked"), pl.col("before")
    return seen.with_columns(
        next=of_round(1, window),
        lowest=pl.min_horizontal(of_round(1, window), of_round(2, window)),
        lossy=pl.any_horizontal(lost, *(of_round(n, lost) for n in (-1, 1, 2))),
        quiet=~pl.any_horizontal(marked, *(of_round(n, marked) for n in (-1, 1, 2))),
        running=marked & of_round(-1, marked) & of_round(-2, marked),
        updates=(marked.cum_max().over(KEY) & (pl.col("acked_packets") > 0))
        .cast(pl.Int32)
        .cum_sum()
        .over(KEY),
        since_ns=pl.col("start_ns")
        - of_round(-1, pl.when(marked).then("end_ns")).forward_fill().over(KEY),
    )


def _usable(seen: pl.DataFrame) -> pl.DataFrame:
    """Marked rounds that show a response, with `after`, `growth`, `error` and `cuts` expected."""
    change = pl.col("lowest") - pl.col("before")
    calm = (
        seen.filter(pl.col("quiet") & ~pl.col("lossy") & ~pl.col("slow_start").fill_null(False))
        .group_by(KEY)
        .agg(
            change.clip(-3, 3).mean().clip(0, GROWTH_MAX).alias("growth"),
            (change - change.median()).abs().mean().alias("noise"),
        )
    )
    periods = (pl.col("rtt_mean_us").median().over(KEY) * 1e3 / TARGET_NS).clip(0, 1)
    ready = (
        seen.with_columns(
            isolated=(pl.col("since_ns") >= TARGET_NS).fill_null(True), periods=periods
        )
        .filter(
            pl.col("marked")
            & (pl.col("isolated") | pl.col("running").fill_null(False))
            & ~pl.col("lossy").fill_null(False)
            & ~pl.col("slow_start").fill_null(False)
            & (pl.col("before") >= MIN_WINDOW)
            & (pl.col("updates") > SETTLED)
        )
        .join(calm, on=KEY, how="left")
    )
    steady = pl.col("before") * UNSTEADY
    return ready.with_columns(
        growth=pl.col("growth").fill_null(GROWTH_MAX),
        error=pl.max_horizontal(pl.lit(ROUNDING), "noise", steady),
        cuts=pl.when("isolated").then(1.0).otherwise(CONTINUED * pl.col("periods")),
        after=pl.when("isolated").then("lowest").otherwise("next"),
    ).drop_nulls("after")


def _laws() -> list[Law]:
    """Every hypothesis. Alpha may start at 1 or at 0, and be updated each round or each 25 ms."""
    left = (1 - 0.5**GAIN_SHIFT) ** pl.col("updates").cast(pl.Float64)
    alphas = {
        FROM_ONE: pl.col("alpha"),
        FROM_ZERO: (pl.col("alpha") - left).clip(0, 1),
        PACED: pl.col("alpha_25ms"),
    }
    floors = {
        "fixed": CUT_FLOOR * (pl.col("classic_ecn") - SCALABLE_THRESHOLD).clip(0, 1),
        "buggy": CUT_FLOOR * (pl.col("classic_ecn_buggy") - SCALABLE_THRESHOLD).clip(0, 1),
        "always": pl.lit(CUT_FLOOR),
    }
    laws = [Law("half", "half", pl.lit(0.5)), Law("none", "none", pl.lit(0.0))]
    for kind, alpha in alphas.items():
        laws.append(Law(f"half {kind}", "half_alpha", alpha / 2))
        for name, floor in floors.items():
            deeper = pl.max_horizontal(alpha / 2, floor)
            laws.append(Law(f"{name} {kind}", f"floor_{name}", deeper))
    return laws


def _log_likelihood(fraction: pl.Expr) -> pl.Expr:
    """Of all samples under one law (nats, up to a constant that all laws share)."""
    alone = _cost(fraction, pl.col("growth")).filter("isolated").sum()
    running = [_cost(fraction, pl.lit(g)).filter(~pl.col("isolated")).sum() for g in GROWTHS]
    return -(alone + pl.min_horizontal(running))


def _cost(fraction: pl.Expr, growth: pl.Expr) -> pl.Expr:
    """What each sample's error costs (nats): quadratic, then linear, then constant."""
    # What is in flight is the fractional window rounded up: half a packet more on average.
    fine = pl.col("before") - 0.5
    predicted = fine * (1 - fraction * pl.col("cuts")) + 0.5 + growth
    off = ((pl.col("after") - predicted) / pl.col("error")).abs()
    linear = (GAUSSIAN * off - GAUSSIAN**2 / 2).clip(upper_bound=UNLIKELY)
    return pl.when(off < GAUSSIAN).then(off**2 / 2).otherwise(linear)


def _given() -> pl.Expr:
    """Share of the window that was given up, growth added back."""
    return 1 - (pl.col("after") - pl.col("growth")) / pl.col("before")


def _by_family(judged: pl.DataFrame, laws: list[Law]) -> pl.DataFrame:
    """The likelihood of each family is that of its best member."""
    families = {law.family: [m.name for m in laws if m.family == law.family] for law in laws}
    best = [pl.max_horizontal(names).alias(f"ll_{family}") for family, names in families.items()]
    return judged.with_columns(best).drop(law.name for law in laws)


def _decided(judged: pl.DataFrame) -> pl.DataFrame:
    """Adds `law`, `lead`, `misfit`, and `references`: which score the floor follows."""
    floors = [f"ll_floor_{name}" for name in FLOORS]
    judged = judged.with_columns(pl.max_horizontal(floors).alias("ll_floor"))
    needed = pl.max_horizontal(pl.lit(LEAD), LEAD_EACH * pl.col("samples"))
    half_alpha, floor, half, none, always = (
        pl.col(f"ll_{name}") for name in ("half_alpha", "floor", "half", "none", "floor_always")
    )
    # A floor that waits for a score which never comes is alpha/2: it must gain something.
    over = {
        "floor": floor - pl.max_horizontal(half_alpha, half, none),
        "half": half - pl.max_horizontal(half_alpha, floor, none),
        "none": none - pl.max_horizontal(half_alpha, floor, half),
        "alpha/2": pl.when(floor - half_alpha < LEAD).then(
            half_alpha - pl.max_horizontal(always, half)
        ),
    }
    # At an alpha near 0 the reduction hides in the noise: no reduction then explains as much.
    hidden = {"alpha/2": none - half_alpha < needed}
    best = pl.max_horizontal(floor, half, none, half_alpha)
    misfit = -best / pl.col("samples")
    enough = (pl.col("samples") >= ENOUGH) & (misfit <= MISFIT)
    named = [
        pl.when(enough & (ahead >= needed) & hidden.get(law, True)).then(pl.lit(law))
        for law, ahead in over.items()
    ]
    law = pl.coalesce(named)
    lead = pl.coalesce(pl.when(law == name).then(ahead) for name, ahead in over.items())
    behind = pl.max_horizontal("ll_floor_buggy", "ll_floor_always") - pl.col("ll_floor_fixed")
    references = (
        pl.when(behind >= needed).then(pl.lit("wrong")).when(behind < LEAD).then(pl.lit("correct"))
    )
    return judged.with_columns(
        law=law, lead=lead, misfit=misfit, references=pl.when(law == "floor").then(references)
    )
