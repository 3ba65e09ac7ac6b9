"""How a sender's window responds to marks: what `laws` shows of the fallback."""

from typing import NamedTuple

import polars as pl

from l4strace.derive.senders.laws import LEAD, LEAD_EACH, MIN_LAW_ROUNDS, MISFIT, apart
from l4strace.derive.vantage import once, scalable
from l4strace.evidence import Evidence
from l4strace.fallback.direction import Direction, typed
from l4strace.prague.constants import CUT_FLOOR
from l4strace.schema.keys import KEY

CLEAR_LEAD, MIN_FEW_ROUNDS = 2 * LEAD, 3
"""Log-likelihood ahead of all other laws from which the floor shows in fewer rounds than name a
law, and how few: one adds at most 6 (`measure/windows.rs`), so two of them at least show it. In
1,460 simulated runs all flows with such a lead in 3 or 4 rounds made most reductions at the
floor."""


class Response(NamedTuple):
    """Which law explains the reductions of one ECT(1) sender, and the numbers behind it."""

    source: int
    law: str | None
    """`alpha/2`, `floor`, `half` or `none`; null where none leads."""
    few: bool
    """All of the few marked rounds are at the fallback's floor."""
    shown: bool
    """The law shows what the fallback does while a correct score is above 8."""
    apart: bool
    """In these windows reductions by alpha/2 and to the floor differ by enough."""
    at_times: bool
    """No law leads, and a floor that comes and goes with the score explains most."""
    mostly_half_alpha: bool
    """Alpha/2 explains most of the reductions where no law leads, and their median is there."""
    references: str | None
    """`correct` where the floor follows the score that correct thresholds give, else `wrong`."""
    by_host: bool
    """Only the marked rounds of all flows of the host together show it."""
    samples: int
    fraction: float | None
    half_alpha: float
    window_packets: float
    first_ns: int
    last_ns: int

    @property
    def at_the_floor(self) -> bool:
        """Reductions to the fallback's floor explain the window."""
        return self.law == "floor" or self.few

    @property
    def deep(self) -> bool:
        """Reductions are far deeper than alpha/2: by the fallback, or by a classic sender."""
        return self.law in ("deep", "half")

    @property
    def unsure(self) -> bool:
        """What shows the law is little, or not of this flow alone."""
        return self.by_host or self.few


def responses(evidence: Evidence) -> dict[Direction, Response]:
    """The response of each ECT(1) sender with usable marks, seen nearest to it."""
    laws = once(evidence, evidence.laws)
    if laws.is_empty():
        return {}
    few = few_at_the_floor()
    laws = laws.join(scalable(evidence), on=KEY, how="semi").with_columns(
        pl.col("by_host").fill_null(False),
        pl.col("half_alpha").fill_null(0.0),
        few=few,
        apart=apart(),
        at_times=floor_at_times(),
        mostly_half_alpha=mostly_half_alpha(),
        shown=show_the_fallback(),
        references=pl.when(few).then(references()).otherwise("references"),
    )
    return typed(laws, Response)


def few_at_the_floor() -> pl.Expr:
    """In a row of `laws`, all of the few marked rounds are at the fallback's floor."""
    others = pl.max_horizontal("ll_half_alpha", "ll_half", "ll_none")
    few = pl.col("samples").is_between(MIN_FEW_ROUNDS, MIN_LAW_ROUNDS - 1) & (
        pl.col("misfit") <= MISFIT
    )
    clear = pl.col("ll_floor") - others >= CLEAR_LEAD
    return (pl.col("law").is_null() & few & clear).fill_null(False)


def floor_at_times() -> pl.Expr:
    """In a row of `laws`, no law leads, and the floor explains more than alpha/2.

    A floor as likely at all times is a small bias of the model, in windows of few packets.
    """
    floor = pl.col("ll_floor")
    ahead = (floor - pl.col("ll_half_alpha") >= LEAD) & (floor - pl.col("ll_floor_always") >= LEAD)
    return (pl.col("law").is_null() & ahead & (pl.col("misfit") <= MISFIT)).fill_null(False)


def mostly_half_alpha() -> pl.Expr:
    """In a row of `laws`, no law leads, alpha/2 explains far more than a floor that always holds.

    A score that exceeds 8 now and then deepens some reductions: the median is that of the others.
    """
    half_alpha, always = pl.col("ll_half_alpha"), pl.max_horizontal("ll_floor_always", "ll_half")
    needed = pl.max_horizontal(pl.lit(LEAD), LEAD_EACH * pl.col("samples"))
    enough = (pl.col("isolated") >= MIN_LAW_ROUNDS) & (pl.col("misfit") <= MISFIT)
    there = pl.col("fraction") < (pl.col("half_alpha") + CUT_FLOOR) / 2
    return (pl.col("law").is_null() & enough & there & (half_alpha - always >= needed)).fill_null(
        False
    )


def show_the_fallback() -> pl.Expr:
    """A row of `laws` shows what the fallback does while a correct score is above 8.

    Alpha/2 shows it only where it explains more than the floor of such a score. Simulated run
    s9401-058: the fallback acted in windows of fewer than 4 packets, and those that could be
    compared came later, when the score had fallen.
    """
    law, ahead = pl.col("law"), pl.col("ll_half_alpha") - pl.col("ll_floor_fixed")
    return law.is_not_null() & ((law != "alpha/2") | (ahead >= LEAD).fill_null(False))


def references() -> pl.Expr:
    """Which score the floor of such rounds follows, as `laws` has it of enough rounds."""
    behind = pl.max_horizontal("ll_floor_buggy", "ll_floor_always") - pl.col("ll_floor_fixed")
    return pl.when(behind < LEAD).then(pl.lit("correct")).otherwise(pl.lit("wrong"))
