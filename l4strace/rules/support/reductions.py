"""What the reductions of a sender show where too few rounds name a law (`derive/laws`)."""

from __future__ import annotations

import polars as pl

from l4strace.derive.laws import ENOUGH, LEAD, MISFIT

CLEAR, FEWEST = 2 * LEAD, 3
"""Log-likelihood ahead of all other laws from which the floor shows in fewer rounds than name a
law, and how few: one adds at most 6 (`derive/windows`), so two of them at least show it. In 1,460
simulated runs all flows with such a lead in 3 or 4 rounds made most reductions at the floor."""


def few_at_the_floor() -> pl.Expr:
    """Of rows of `laws`: all of the few marked rounds are at the fallback's floor."""
    others = pl.max_horizontal("ll_half_alpha", "ll_half", "ll_none")
    few = pl.col("samples").is_between(FEWEST, ENOUGH - 1) & (pl.col("misfit") <= MISFIT)
    clear = pl.col("ll_floor") - others >= CLEAR
    return (pl.col("law").is_null() & few & clear).fill_null(False)


def show_the_fallback() -> pl.Expr:
    """Of rows of `laws`: the law tells what the fallback does while a correct score is above 8.

    Alpha/2 tells it only where it explains more than the floor of such a score. Simulated run
    s9401-058: the fallback acted in windows of fewer than 4 packets, and those that could be
    compared came later, when the score had fallen.
    """
    law, ahead = pl.col("law"), pl.col("ll_half_alpha") - pl.col("ll_floor_fixed")
    return law.is_not_null() & ((law != "alpha/2") | (ahead >= LEAD).fill_null(False))


def references() -> pl.Expr:
    """Which score the floor of such rounds follows, as `laws` has it of enough rounds."""
    behind = pl.max_horizontal("ll_floor_buggy", "ll_floor_always") - pl.col("ll_floor_fixed")
    return pl.when(behind < LEAD).then(pl.lit("correct")).otherwise(pl.lit("wrong"))
