"""What kernel logs sample of Prague's state: alpha, the score, and whether marks came."""

from typing import NamedTuple

import polars as pl

from l4strace.evidence import Evidence, kept
from l4strace.fallback.direction import Direction, typed
from l4strace.prague.constants import DCTCP
from l4strace.schema.keys import DIRECTION

OWN_FUNCTIONS = ("ack", "alpha", "cwr")
"""Events of Prague's own functions: they show classic_ecn wherever the build has it."""

MIN_TRANSFER_SAMPLES = 50
"""Samples below which a socket is a control connection, or has just begun: by eye; that of a test
tool has some ten ACKs, and a correct detector exceeds 8 within 5 rounds at CoDel's queue delay."""


class Sampled(NamedTuple):
    """Samples of one direction that show an alpha."""

    samples: int
    probed: bool
    """Some are of Prague's own functions."""
    score_max: float | None
    """Largest `classic_ecn`; null where the log never has it."""
    without_score: bool
    """Nothing in the whole log has it, although Prague's own functions were probed."""
    alpha_last: float
    saw_ce: bool | None
    delivered_ce: int | None

    @property
    def enough(self) -> bool:
        """More than a control connection has."""
        return self.samples >= MIN_TRANSFER_SAMPLES

    @property
    def marked(self) -> bool | None:
        """Whether the log shows CE; null where it does not count any."""
        if self.saw_ce is None and self.delivered_ce is None:
            return None
        return bool(self.saw_ce) or (self.delivered_ce or 0) > 0

    @property
    def shows_the_score(self) -> bool:
        """It has a score, or shows that the build has none."""
        return self.score_max is not None or self.probed


def sampled(evidence: Evidence) -> dict[Direction, Sampled]:
    """Prague's samples by direction."""
    if evidence.kernel.is_empty():
        return {}
    prague = _with_alpha(evidence.kernel).filter((pl.col("cc") != DCTCP).fill_null(True))
    own = pl.col("event").is_in(OWN_FUNCTIONS)
    logs = prague.group_by(log="source").agg(
        without_score=own.any() & pl.col("classic_ecn").filter(own).is_null().all()
    )
    return typed(_summarized(prague).join(logs, on="log", how="left"), Sampled)


@kept
def alphas(evidence: Evidence) -> pl.DataFrame:
    """Samples per direction of every congestion control with an alpha, in user space too."""
    logs = (evidence.kernel, evidence.udp_kernel)
    return _summarized(pl.concat([_with_alpha(log) for log in logs]))


def _with_alpha(kernel: pl.DataFrame) -> pl.DataFrame:
    """Samples that show an alpha; of the widest table only what is asked for is copied."""
    known = kernel["flow"].is_not_null() & kernel["alpha"].is_not_null()
    needed = ("source", *DIRECTION, "ts_ns", "event", "cc", "classic_ecn", "alpha", "saw_ce")
    return kernel.select(*needed, "delivered_ce").filter(known)


def _summarized(samples: pl.DataFrame) -> pl.DataFrame:
    """One row a direction. Where the log shows `init` (prague_init), earlier samples are left out.

    They show the private area of the socket before it was filled.
    """
    begun = pl.col("ts_ns").filter(pl.col("event") == "init").min().over(DIRECTION)
    samples = samples.filter(pl.col("ts_ns") >= pl.coalesce(begun, pl.col("ts_ns"))).sort("ts_ns")
    return samples.group_by(DIRECTION, maintain_order=True).agg(
        pl.col("source").first().alias("log"),
        pl.len().alias("samples"),
        pl.col("event").is_in(OWN_FUNCTIONS).any().alias("probed"),
        pl.col("classic_ecn").max().alias("score_max"),
        pl.col("alpha").last().alias("alpha_last"),
        pl.col("alpha").max().alias("alpha_max"),
        pl.col("alpha").n_unique().alias("alphas"),
        pl.col("saw_ce").max().alias("saw_ce"),
        pl.col("delivered_ce").max().alias("delivered_ce"),
        pl.col("delivered_ce").min().alias("delivered_ce_first"),
    )
