"""How many bits alpha has in a log that does not state it, and the scores that follow.

Alpha 1.0 and one point of classic_ecn are both 2^PRAGUE_ALPHA_BITS. Published builds have 20 bits
(P1, P2), 24 (P3 to P7) or 31 (P0); reading one as another is off by a factor of 16 or more.
"""

from __future__ import annotations

from math import log2

import polars as pl

from l4strace.core import _native
from l4strace.prague.constants import ALPHA_BITS as BITS
from l4strace.prague.constants import DCTCP, SCORE_MAX

C_STICKY = int(SCORE_MAX)
"""Upper end of the score, in units of 2^bits."""
ENOUGH_MARKS = 100
MAX_OCTAVES = 1.5
"""Octaves between mean alpha and the share of marks: the next scale is four away."""
MIN_UPDATES = 3
"""Alpha updates that must agree before they are taken for proof."""


def width(samples: pl.DataFrame, claimed: int | None) -> tuple[int | None, bool]:
    """PRAGUE_ALPHA_BITS, and whether the samples overrule the width that the log claims.

    A collector knows a layout by its offsets, but no type information shows a macro: 20 and 24 bits
    share layouts. What the samples prove stands above what the header claims.
    """
    proven = alpha_bits(samples)
    if proven is None:
        return claimed, False
    return proven, claimed is not None and claimed != proven


def alpha_bits(samples: pl.DataFrame) -> int | None:
    """PRAGUE_ALPHA_BITS that explains the logged values; None when they fit several.

    In order of proof: alpha updates reproduced to the last bit, values on a build's own plateau
    (initial alpha 1.0, classic_ecn at its clamp), values too large for fewer bits, and alpha's
    mean against the share of marked packets that it follows.
    """
    for identify in (_by_updates, _by_plateau, _by_size, _by_marks):
        if (bits := identify(samples)) is not None:
            return bits
    return None


def updates(samples: pl.DataFrame) -> pl.DataFrame:
    """Pairs of consecutive `alpha` samples of one socket: state before and after one update.

    Columns: sk, ts_ns, upscaled_alpha, delivered_now, ce_now (packets of the round), saw_ce,
    upscaled_after. The call on the SYN/ACK, which runs before prague_init, is left out.
    """
    alpha = samples.filter((pl.col("event") == "alpha") & pl.col("upscaled_alpha").is_not_null())
    return (
        alpha.select(
            "sk",
            "ts_ns",
            "upscaled_alpha",
            "saw_ce",
            delivered_now=(pl.col("delivered").cast(pl.Int64) - pl.col("old_delivered")) % 2**32,
            ce_now=(pl.col("delivered_ce").cast(pl.Int64) - pl.col("old_delivered_ce")) % 2**32,
            # A build without the detector leaves the shift at 0 for good.
            initialised=(pl.col("g_srtt_shift").max().over("sk").fill_null(0) == 0)
            | (pl.col("g_srtt_shift") > 0),
            upscaled_after=pl.col("upscaled_alpha").shift(-1).over("sk"),
            began=pl.col("frac_cwnd").is_null() | (pl.col("frac_cwnd") > 0),
        )
        .filter(pl.col("initialised") & pl.col("began"))
        .drop_nulls(["upscaled_after", "delivered_now", "ce_now"])
        .drop("initialised", "began")
    )


def _by_updates(samples: pl.DataFrame) -> int | None:
    marked = updates(samples).filter((pl.col("ce_now") > 0) & (pl.col("saw_ce") != False))  # noqa: E712
    if marked.height < MIN_UPDATES:
        return None
    columns = [marked[name].to_list() for name in ("upscaled_alpha", "delivered_now", "ce_now")]
    after = marked["upscaled_after"].to_list()
    hits = {}
    for bits in BITS:
        replayed = _native.prague_alpha(bits, *columns)
        hits[bits] = sum(a == b for a, b in zip(replayed, after, strict=True))
    best = max(hits, key=lambda bits: hits[bits])
    return best if hits[best] * 2 > marked.height else None


def _by_plateau(samples: pl.DataFrame) -> int | None:
    alpha, score = samples["alpha_raw"].max(), samples["classic_ecn_raw"].max()
    for bits in BITS:
        if alpha == 1 << bits or score == C_STICKY << bits:
            return bits
    return None


def _by_size(samples: pl.DataFrame) -> int | None:
    alpha = samples["alpha_raw"].max() or 0
    score = samples["classic_ecn_raw"].max() or 0
    fits = [bits for bits in BITS if alpha <= 1 << bits and score <= C_STICKY << bits]  # type: ignore[operator]
    if 20 in fits or not fits:
        return None
    return fits[0]


def _by_marks(samples: pl.DataFrame) -> int | None:
    """The scale on which mean alpha is nearest to the share of marks; scales differ by 16.

    Of the second half of each socket's samples: alpha comes from 0 or 1 and needs its time.
    """
    counts = pl.col("delivered", "delivered_ce").cast(pl.Int64)
    known = samples.drop_nulls(["alpha_raw", "delivered", "delivered_ce"])
    late = pl.int_range(pl.len()).over("sk") * 2 + 1 >= pl.len().over("sk")
    per_socket = (
        known.filter(late)
        .group_by("sk", maintain_order=True)
        .agg(counts.last() - counts.first(), alpha=pl.col("alpha_raw").mean())
    )
    best = per_socket.sort("delivered_ce").tail(1)
    if best.is_empty() or best["delivered_ce"][0] < ENOUGH_MARKS or not best["alpha"][0]:
        return None
    share = best["delivered_ce"][0] / max(1, best["delivered"][0])
    octaves = {bits: abs(log2(best["alpha"][0] / 2**bits / share)) for bits in BITS}
    nearest = min(octaves, key=lambda bits: octaves[bits])
    return nearest if octaves[nearest] < MAX_OCTAVES else None


def scaled(samples: pl.DataFrame, bits: int | None) -> pl.DataFrame:
    """Adds `alpha` (0..1), `classic_ecn` (0..17) and `alpha_bits`; null when ``bits`` is None.

    `alpha_bits` is null too in samples without Prague's state. DCTCP's alpha has one scale, so
    collectors write it as a share: it stays as it is.
    """
    unit = pl.lit(None if bits is None else float(1 << bits), dtype=pl.Float64())
    raw = pl.any_horizontal(pl.col("alpha_raw", "classic_ecn_raw").is_not_null())
    return samples.with_columns(
        alpha=pl.coalesce(pl.col("alpha_raw") / unit, *_shares(samples)),
        classic_ecn=pl.col("classic_ecn_raw") / unit,
        alpha_bits=pl.when(raw).then(pl.lit(bits, dtype=pl.UInt8())),
    )


def _shares(samples: pl.DataFrame) -> list[pl.Expr]:
    """Alpha as logged by a congestion control whose scale never changed."""
    if "alpha" not in samples.columns:
        return []
    return [pl.when(pl.col("cc") == DCTCP, pl.col("alpha").is_between(0, 1)).then("alpha")]
