"""Which alpha a sender computes: by which clock, and from 0 or from 1.

Builds up to 2022 update alpha once per round trip for 500 rounds, builds from 5.15 on at most every
25 ms from their fourth round on. The same step slows down additive increase on shorter round
trips: a window that grows fast shows the builds up to 2022. One that grows slowly only suggests the
others, as it does not grow where pacing leaves it unfilled either (is_cwnd_limited). Builds start
alpha at 1 or at 0: the first reductions differ. All flows of a sender run one build, so their
evidence is added up. What remains open stays in the bounds.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import company, numbers, windows
from l4strace.evidence import Capture, kept
from l4strace.prague.constants import CUT_FLOOR, SCALABLE_THRESHOLD, TRANSITION_ROUNDS
from l4strace.schema.keys import KEY, SENDER

SETTLED = 2
"""Updates after the first mark that are left out: builds halve the window there by rules of their
own."""

YOUNG = 40
"""Updates during which the start still shows: (15/16)^40 = 0.08 of it is left."""

CALM = 8
"""Updates after which slow start is over: as in `laws`."""

APART = 0.7
"""Growth per round, (RTT / 25 ms)^2, up to which it is told from 1: at RTTs up to 21 ms."""

ENOUGH, SURE = 20, 3.0
"""Rounds, and standard errors between their mean growth and the middle of both hypotheses: 1 in 700
by chance."""

LEAD = 3.0
"""Log-likelihood (nats) by which one start leads: odds of 20 to 1."""

BOUNDS = ("", "_lo", "_hi")


@kept
def chosen(capture: Capture) -> pl.DataFrame:
    """Per direction of an ECT(1) sender: `paced` (25 ms from the fourth round on), `from_zero`.

    Null where the packets leave it open; true only suggests `paced`.
    """
    seen = windows.seen(capture)
    # In the order of `of`: see `numbers.by_key`.
    directions = company.directions(capture).lazy()
    hosts = directions.select(*KEY, "sender").sort(KEY).collect()["sender"]
    first = seen.lazy().select(*KEY, "of").filter(pl.col("of").ne_missing(pl.col("of").shift()))
    early = windows.usable(capture).filter(
        (pl.col("alpha_updates") > SETTLED) & (pl.col("alpha_updates") <= YOUNG)
    )
    senders, calm = (
        rows.with_columns(sender=pl.lit(hosts).gather("of")) for rows in (first, _calm(seen.lazy()))
    )
    zero = _from_zero(early.with_columns(sender=hosts[early["of"]]))
    judged = (
        senders.join(_paced(calm), on=SENDER, how="left", maintain_order="left")
        .join(zero.lazy(), on=SENDER, how="left", maintain_order="left")
        .select(*KEY, "paced", "from_zero")
    )
    return judged.collect()


def rounds(capture: Capture, plain: pl.DataFrame) -> pl.DataFrame:
    """``plain`` with `alpha`, `alpha_lo` and `alpha_hi` of the build that each sender runs.

    Where clock or start are open, the bounds cover both; `alpha` then starts as published builds
    with the likely clock do: at 0 from 5.15 on, else at 1. Without a handshake it may have any
    value at first: `alpha` is the middle of the bounds.
    """
    alphas = (f"{clock}{bound}" for clock in windows.CLOCKS for bound in BOUNDS)
    builds = _builds(capture)[numbers.directions(capture)]
    of = plain.lazy().select(*alphas, *windows.left(), *builds)
    likely, low, high = (_by_clock(bound) for bound in BOUNDS)
    narrow, paced = pl.col("paced").not_(), pl.col("paced").fill_null(False)
    bounded = of.select(
        "late",
        likely=pl.when(paced).then(likely[1]).otherwise(likely[0]),
        low=pl.when(narrow).then(low[0]).otherwise(pl.min_horizontal(low)),
        high=pl.when(narrow).then(high[0]).otherwise(pl.max_horizontal(high)),
    )
    middle = (pl.col("low") + pl.col("high")) / 2
    best = pl.when("late").then(middle).otherwise("likely")
    found = bounded.select(alpha=best, alpha_lo="low", alpha_hi="high").collect()
    return plain.with_columns(found.get_columns())


def _builds(capture: Capture) -> pl.DataFrame:
    """Of each row of `company.directions`: `paced`, `late`, and where alpha starts.

    `late` is one without a handshake. `zero`, `zero_lo` and `zero_hi` state whether alpha and its
    bounds start at 0: what the packets leave open is as the clock has it, or in the bounds.
    """
    begun = capture.flows.lazy().select("source", "flow", late=pl.col("handshake") == "none")
    builds = company.directions(capture).lazy().select(KEY)
    for known, by in ((chosen(capture).lazy(), KEY), (begun, KEY[:2])):
        builds = builds.join(known, on=by, how="left", maintain_order="left")
    late, from_zero = pl.col("late").fill_null(False), pl.col("from_zero")
    begin = builds.select(
        "paced",
        late=late,
        zero=pl.coalesce(from_zero, pl.col("paced").fill_null(False)) & ~late,
        zero_lo=from_zero.fill_null(True) | late,
        zero_hi=from_zero.fill_null(False) & ~late,
    )
    return begin.collect()


def _by_clock(bound: str) -> tuple[pl.Expr, pl.Expr]:
    """One bound of alpha by the clock of builds up to 2022, and by the 25 ms of later ones."""
    unpaced, paced = (
        (pl.col(f"{clock}{bound}") - pl.when(f"zero{bound}").then(f"{clock}_left").otherwise(0.0))
        for clock in windows.CLOCKS
    )
    return unpaced.clip(0, 1), paced.clip(0, 1)


def _slowed() -> pl.Expr:
    """Growth per round that the 25 ms leave."""
    return (pl.col("rtt_mean_us") * 1e3 / windows.TARGET_NS) ** 2


def _calm(seen: pl.LazyFrame) -> pl.LazyFrame:
    """Rounds without marks, at RTTs that would slow growth down."""
    return seen.filter(
        pl.col("quiet")
        & ~pl.col("lossy")
        & ~pl.col("slow_start").fill_null(False)
        & (pl.col("limited_by") == "cwnd")
        & (pl.col("before") >= windows.MIN_WINDOW)
        & pl.col("alpha_updates").is_between(CALM, TRANSITION_ROUNDS)
        & (_slowed() <= APART)
    )


def _paced(calm: pl.LazyFrame) -> pl.LazyFrame:
    """Whether the window grows slowly in rounds that are `_calm`."""
    growth = (pl.col("next") - pl.col("before")).clip(-3, 3)
    means = calm.group_by(SENDER).agg(
        rounds=pl.len(),
        growth=growth.mean(),
        error=growth.std() / pl.len().sqrt(),
        middle=(1 + _slowed().mean()) / 2,
    )
    above = pl.col("growth") - pl.col("middle")
    sure = (pl.col("rounds") >= ENOUGH) & (above.abs() >= SURE * pl.col("error"))
    return means.select(*SENDER, paced=pl.when(sure).then(above < 0))


def _from_zero(early: pl.DataFrame) -> pl.DataFrame:
    """Which start explains the first reductions, whatever the fallback does."""
    if early.is_empty():
        return early.select(*SENDER, from_zero=pl.lit(None, pl.Boolean))
    floors = (
        pl.lit(0.0),
        *(
            CUT_FLOOR * (pl.col(score) - SCALABLE_THRESHOLD).clip(0, 1)
            for score in ("classic_ecn", "classic_ecn_buggy")
        ),
        pl.lit(CUT_FLOOR),
    )
    laws = {
        from_zero: {
            f"{from_zero} {paced} {n}": pl.max_horizontal(
                windows.alpha(paced, from_zero) / 2, floor
            )
            for n, floor in enumerate(floors)
            for paced in (False, True)
        }
        for from_zero in (False, True)
    }
    per_flow = windows.log_likelihoods(early, (*SENDER, *KEY[1:]), laws[False] | laws[True])
    one, zero = (pl.max_horizontal(list(laws[from_zero])) for from_zero in (False, True))
    lead = per_flow.lazy().group_by(SENDER).agg(lead=(zero - one).sum())
    known = pl.col("lead").abs() >= LEAD
    return lead.select(*SENDER, from_zero=pl.when(known).then(pl.col("lead") > 0)).collect()
