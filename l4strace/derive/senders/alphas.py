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
import polars.selectors as cs

from l4strace.core import _native
from l4strace.derive import neighbors
from l4strace.derive.measured import measured
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import KEY, SENDER

MIN_PACED_ROUNDS, STANDARD_ERRORS = 20, 3.0
"""Rounds, and standard errors between their mean growth and the middle of both hypotheses: 1 in 700
by chance."""

LEAD = 3.0
"""Log-likelihood (nats) by which one start leads: odds of 20 to 1."""


@kept
def chosen(capture: Capture) -> pl.DataFrame:
    """Per direction of an ECT(1) sender: `paced` (25 ms from the fourth round on), `from_zero`.

    Null where the packets leave it open; true only suggests `paced`.
    """
    senders = neighbors.directions(capture).lazy().select(*KEY, "sender")
    found = pl.LazyFrame(measured(capture).builds())
    shown = found.join(senders, on=KEY, how="left", maintain_order="left")
    total = {name: pl.col(name).sum() for name in ("rounds", "growth", "squares", "slowed", "lead")}
    sums = shown.group_by(SENDER).agg(**total)
    rounds, growth = pl.col("rounds"), pl.col("growth") / pl.col("rounds")
    variance = (pl.col("squares") - rounds * growth**2).clip(lower_bound=0) / (rounds - 1)
    above = growth - (1 + pl.col("slowed") / rounds) / 2
    sure = (rounds >= MIN_PACED_ROUNDS) & (
        above.abs() >= STANDARD_ERRORS * (variance / rounds).sqrt()
    )
    judged = sums.select(
        *SENDER,
        paced=pl.when(sure).then(above < 0),
        from_zero=pl.when(pl.col("lead").abs() >= LEAD).then(pl.col("lead") > 0),
    )
    hosts = shown.select(*KEY, "sender").join(judged, on=SENDER, how="left", maintain_order="left")
    return hosts.drop("sender").collect()


def rounds(capture: Capture, plain: pl.DataFrame) -> pl.DataFrame:
    """``plain`` with `alpha`, `alpha_lo` and `alpha_hi` of the build that each sender runs.

    Where clock or start are open, the bounds cover both; `alpha` then starts as published builds
    with the likely clock do: at 0 from 5.15 on, else at 1. Without a handshake it may have any
    value at first: `alpha` is the middle of the bounds.
    """
    replayed = plain.select(*KEY, cs.starts_with("alpha")).rechunk()
    found = pl.DataFrame(_native.alphas(replayed, _builds(capture)))
    return plain.with_columns(found.get_columns())


def _builds(capture: Capture) -> pl.DataFrame:
    """`paced`, `late` and the start of alpha, for each row of `neighbors.directions`.

    `late` is one without a handshake. `zero`, `zero_lo` and `zero_hi` state whether alpha and its
    bounds start at 0: what the packets leave open is as the clock has it, or in the bounds.
    """
    begun = capture.flows.lazy().select("source", "flow", late=pl.col("handshake") == "none")
    builds = neighbors.directions(capture).lazy().select(KEY)
    for known, by in ((chosen(capture).lazy(), KEY), (begun, KEY[:2])):
        builds = builds.join(known, on=by, how="left", maintain_order="left")
    late, from_zero = pl.col("late").fill_null(False), pl.col("from_zero")
    begin = builds.select(
        *KEY,
        "paced",
        late=late,
        zero=pl.coalesce(from_zero, pl.col("paced").fill_null(False)) & ~late,
        zero_lo=from_zero.fill_null(True) | late,
        zero_hi=from_zero.fill_null(False) & ~late,
    )
    return begin.collect()
