"""What `native/src/measure/delays.rs` works out, in polars expressions: the oracle of its tests."""

from __future__ import annotations

import polars as pl

from l4strace.schema.keys import of_round

SEVERAL, BESIDE, CALM, FEW = 1.5, {"rtt": 0.7, "owd": 0.5}, 0.25, 3


def delays(near: pl.DataFrame) -> pl.DataFrame:
    """As `_native.path_delays`; ``near`` has the columns of `KEY`, too."""
    repaired = pl.col("retransmits").fill_null(0)
    hole = repaired + of_round(1, repaired).fill_null(0) > 0
    # So does one behind a packet that others overtook.
    hole |= pl.col("sacked_rtt_max_us").is_not_null()
    held = hole & (pl.col("rtt_samples") <= FEW)
    # Packets behind a loss have no RTT but that of SACK; the receiver reports each at once.
    sacked = (_sacked() - pl.col("base_us")).clip(lower_bound=0)
    rtt = pl.max_horizontal(
        pl.when(~held).then(_largest("rtt", pl.col("rtt_samples"), pl.col("base_us"))), sacked
    )
    owd = pl.lit(None, dtype=pl.Float64())
    if near["owd_max_us"].count():
        least = pl.col("owd_min_us").min().over("of")
        least = pl.when("overtakes").then("owd_base_us").otherwise(least)
        owd = _largest("owd", pl.col("sent_packets"), least)
        owd = pl.when(pl.col("owd_max_us").is_not_null()).then(owd)
    return near.select(pl.coalesce(owd, rtt).alias("delay_us"), owd.is_not_null().alias("one_way"))


def _sacked() -> pl.Expr:
    """Largest RTT that SACK reports. Of a super-packet one segment may be lost.

    SACK reports all of that packet after the repair: its delay counts where a round beside it bears
    it out, else the smallest of the round.
    """
    most, base = pl.col("sacked_rtt_max_us"), pl.col("base_us")
    others = _beside(pl.max_horizontal("sacked_rtt_max_us", "rtt_mean_us")) - base
    alone = (others < BESIDE["rtt"] * (most - base)).fill_null(True)
    return pl.when(pl.col("merged") & alone).then("sacked_rtt_min_us").otherwise(most)


def _largest(kind: str, samples: pl.Expr, base: pl.Expr) -> pl.Expr:
    """Largest delay above ``base``; without the largest sample where nothing bears it out."""
    least, mean, most = (pl.col(f"{kind}_{which}_us") for which in ("min", "mean", "max"))
    count = samples.cast(pl.Float64).clip(lower_bound=1)
    lone = pl.lit(False)
    if kind == "rtt":
        # The only ACK of a round, and of one packet, may have been held back: it shows no more than
        # the rounds beside it, and bears none out.
        lone = pl.col("rtt_prompt_max_us").is_null() & (count <= 1)
        lone &= pl.col("acked_packets") <= 1
        # Without the ACK that the receiver held back.
        prompt, largest = pl.col("rtt_prompt_max_us"), most
        held = (prompt < largest).fill_null(False)
        mean = pl.when(held).then((count * mean - largest) / (count - 1)).otherwise(mean)
        most = pl.when(held).then(prompt).otherwise(largest)
        count = count - held.cast(pl.Float64)
    height = most - base
    several = count * (mean - least) >= SEVERAL * (most - least)
    # Nor do small ones, however many, where the rounds beside this one have no others.
    calm = _beside(pl.col(f"{kind}_max_us")) - least < CALM * (most - least)
    usual = pl.max_horizontal(_beside(pl.col(f"{kind}_mean_us")), least)
    several &= ~(calm & (count * (mean - usual) < SEVERAL * (most - least))).fill_null(value=False)
    without = (count * mean - most) / (count - 1)
    # Two delayed ACKs do not bear each other out: of two or three samples the largest is left out,
    # unless the receiver answered at once and the others are as high.
    two = count.is_between(2, FEW)
    alike = two & (without - base >= BESIDE[kind] * height)
    if kind == "rtt":
        alike &= pl.col("rtt_prompt_max_us").is_not_null()
    near = pl.when(two).then(without).when(~lone).then(mean)
    # Nor does one that is alone in its round, where a packet of this round did not wait.
    others = pl.when(two).then(_beside(pl.when(count >= 2).then(near))).otherwise(_beside(near))
    beside = others - base
    rest = pl.when(count >= 2).then(without - base).otherwise(beside.fill_null(0.0))
    # One sample alone is its own mean, so only the rounds beside it count.
    borne_out = (several & (count >= 2)) | (beside >= BESIDE[kind] * height).fill_null(False)
    borne_out |= alike.fill_null(value=False)
    largest = pl.when(lone).then(pl.min_horizontal(height, beside)).when(borne_out).then(height)
    known = most.is_not_null() & (~lone | beside.is_not_null())
    return pl.when(known).then(largest.otherwise(rest).clip(lower_bound=0))


def _beside(column: pl.Expr) -> pl.Expr:
    """The larger value of the rounds before and after."""
    return pl.max_horizontal(*(of_round(step, column) for step in (-1, 1)))
