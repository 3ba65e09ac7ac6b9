"""Reductions of a sender's window, and which law explains each.

From kernel samples where a log shows the entry into CWR: the window before and after is then known
to a fraction of a packet. Else from packets: the most that was in flight in a round whose ACKs
carried marks or reported loss, against the two rounds after it. Prague's window follows its target
by one packet per ACK (prague_update_cwnd), so a cut is a ramp of one round, not a step.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import behind, vantage
from l4strace.derive.measured import measured
from l4strace.evidence import Capture, over_udp
from l4strace.prague.constants import (
    CLASSIC_THRESHOLD,
    CUT_FLOOR,
    FRAC_CWND_UNIT,
    SCALABLE_THRESHOLD,
)
from l4strace.schema import TABLES
from l4strace.schema.keys import DIRECTION, KEY

HALF = 0.5
"""First CE of a P4 or P7 kernel (prague_update_cwnd), loss (prague_enter_loss), and Reno."""

EXACT = 0.01
"""Tolerance for a logged cut: rounding, and the increase of the same ACK. By eye."""

REGROWN, ROUNDED = 1.5, 0.5
"""Packets by which the window after a cut may have grown again before it was seen (one a round),
and by which counting whole packets may mislead."""

CUT_EVENTS = ("cwr", "loss")
NS_PER_US = 1000


def table(capture: Capture) -> pl.DataFrame:
    """One row per reduction, in the schema of `cuts`; kernel cuts replace a flow's packet ones."""
    schema = TABLES["cuts"]
    packets = schema.conform(_explain(_from_packets(capture)))
    if capture.kernel.is_empty():
        return packets.sort(schema.key)
    kernel = schema.conform(_explain(_from_kernel(capture)))
    unknown = packets.join(kernel, on=["flow", "forward"], how="anti")
    return pl.concat([kernel, unknown]).sort(schema.key)


def _from_kernel(capture: Capture) -> pl.DataFrame:
    """Cuts at `cwr` and `loss` samples; the samples that follow show the window after it."""
    by = ["source", "flow", "forward", "sk"]
    fine = pl.col("frac_cwnd") / FRAC_CWND_UNIT
    needed = (*by, "ts_ns", "event", "snd_cwnd", "frac_cwnd", "srtt_us", "alpha", "classic_ecn")
    states = (
        capture.kernel.select(needed)
        .filter(pl.col("flow").is_not_null() & (pl.col("snd_cwnd") > 0))
        .with_columns(fine.alias("fine"), pl.col("snd_cwnd").cast(pl.Float64).alias("whole"))
        .sort("ts_ns")
    )
    cuts = states.filter(pl.col("event").is_in(CUT_EVENTS))
    later = states.filter(~pl.col("event").is_in(CUT_EVENTS)).select(
        *by,
        "ts_ns",
        # A P7 kernel halves at the first CE one call later than it enters CWR.
        pl.min_horizontal("fine", pl.col("fine").shift(-1).over(by)).alias("fine_after"),
        pl.col("whole").alias("whole_after"),
    )
    at_once = cuts.join_asof(
        later.drop("whole_after"), on="ts_ns", by=by, strategy="forward", check_sortedness=False
    )
    srtt_ns = (pl.col("srtt_us").fill_null(0) * NS_PER_US).cast(pl.Int64)
    a_round_later = at_once.with_columns((pl.col("ts_ns") + srtt_ns).alias("done_ns")).sort(
        "done_ns"
    )
    ramped = a_round_later.join_asof(
        later.drop("fine_after").rename({"ts_ns": "seen_ns"}),
        left_on="done_ns",
        right_on="seen_ns",
        by=by,
        strategy="forward",
        check_sortedness=False,
    )
    measured = ramped.with_columns(
        pl.lit("kernel").alias("origin"),
        pl.when(pl.col("event") == "cwr")
        .then(pl.lit("ce"))
        .otherwise(pl.lit("loss"))
        .alias("cause"),
        pl.coalesce("fine", "whole").alias("cwnd_before"),
        pl.coalesce("fine_after", "whole_after").alias("cwnd_after"),
        pl.when(pl.col("fine_after").is_null()).then(REGROWN).otherwise(0.0).alias("slack"),
    )
    return _fractions(measured.lazy()).collect().pipe(_with_round, capture)


def _with_round(cuts: pl.DataFrame, capture: Capture) -> pl.DataFrame:
    """Number of the packet-side round in which each cut began; null without a capture."""
    near = vantage.nearest(capture).select(KEY)
    moments = cuts.select(*DIRECTION, "ts_ns").join(
        near, on=DIRECTION, how="left", maintain_order="left"
    )
    begun = pl.DataFrame(measured(capture).begun(moments.rechunk()))
    return cuts.with_columns(begun["round"])


def _from_packets(capture: Capture) -> pl.DataFrame:
    """Cuts at rounds with marks, ECE or retransmissions, measured by what was in flight.

    Behind a queue that marks or drops no more is in flight than it lets pass. Only classic ECN
    shows there, by its CWR, whether the sender answers.

    Of senders over UDP the laws are not those of TCP. UDP Prague's window shows in flight: its
    reductions after loss are known.
    """
    udp, cuts = over_udp(capture), pl.LazyFrame(measured(capture).cuts())
    unseen = behind.directions(capture).lazy().with_columns(unseen=True)
    cuts = (
        cuts.join(unseen, on=KEY, how="left", maintain_order="left")
        .filter(pl.col("unseen").is_null() | (pl.col("cause") == "ece"))
        .drop("unseen")
    )
    if udp.height:
        prague = udp.filter(transport="udp-prague")["flow"].implode()
        after_loss = pl.col("flow").is_in(prague) & (pl.col("cause") == "loss")
        cuts = cuts.filter(~pl.col("flow").is_in(udp["flow"].implode()) | after_loss)
    cuts = cuts.with_columns(origin=pl.lit("packets"), slack=REGROWN)
    return _fractions(cuts).collect().pipe(_with_kernel_state, capture.kernel)


def _with_kernel_state(cuts: pl.DataFrame, kernel: pl.DataFrame) -> pl.DataFrame:
    """Alpha and score that a log without `cwr` samples recorded last, in place of the replay."""
    if kernel.is_empty():
        unknown = pl.lit(None, kernel.schema["classic_ecn"])
        return cuts.with_columns(unknown.alias("classic_ecn"))
    states = kernel.select(
        "flow", "forward", "ts_ns", pl.col("alpha").alias("kernel_alpha"), "classic_ecn"
    ).filter(pl.col("flow").is_not_null() & pl.col("kernel_alpha").is_not_null())
    joined = cuts.sort("ts_ns").join_asof(
        states.sort("ts_ns"), on="ts_ns", by=["flow", "forward"], check_sortedness=False
    )
    return joined.with_columns(pl.coalesce("kernel_alpha", "alpha").alias("alpha"))


def _fractions(cuts: pl.LazyFrame) -> pl.LazyFrame:
    """Share given up, with the bounds that regrowth (`slack`) and rounding leave."""
    before, after, slack = pl.col("cwnd_before"), pl.col("cwnd_after"), pl.col("slack")
    rounded = pl.when(slack > 0).then(ROUNDED).otherwise(0.0)
    return cuts.with_columns(
        (1 - after / before).clip(0, 1).alias("fraction"),
        (1 - (after + rounded) / before).clip(0, 1).alias("fraction_lo"),
        (1 - (after - slack) / before).clip(0, 1).alias("fraction_hi"),
    )


def _explain(cuts: pl.DataFrame) -> pl.DataFrame:
    """The law nearest to the fraction among those inside its bounds; `none` when none is."""
    score = pl.col("classic_ecn")
    transition = CLASSIC_THRESHOLD - SCALABLE_THRESHOLD
    grown = ((score - SCALABLE_THRESHOLD) / transition).clip(0, 1)
    floor = CUT_FLOOR * pl.when(score.is_null()).then(1.0).otherwise(grown)
    half_alpha = pl.col("alpha") / 2
    ce = pl.col("cause") == "ce"
    expected = {
        # Without a score to prove it the floor only explains what alpha/2 does not.
        "alpha/2": pl.when(ce).then(half_alpha),
        "floor": pl.when(ce & (floor > half_alpha.fill_null(0)) & (floor > 0)).then(floor),
        "half": pl.lit(HALF),
    }
    distances = cuts.lazy().select(**{law: _distance(value) for law, value in expected.items()})
    distances = distances.with_columns(nearest=pl.min_horizontal(*expected))
    names = [pl.when(pl.col(law) == pl.col("nearest")).then(pl.lit(law)) for law in expected]
    laws = distances.select(law=pl.coalesce(*names, pl.lit("none"))).collect()
    return cuts.with_columns(laws)


def with_regrowth(cuts: pl.DataFrame) -> pl.DataFrame:
    """`cuts` whose kernel rows of law `none` take the law that fits if the window grew meanwhile.

    A log without a sample for each ACK shows the window after a cut up to a detector step later.
    For pictures: what proves a law needs it to the bit.
    """
    if not ((cuts["origin"] == "kernel") & (cuts["law"] == "none")).any():
        return cuts
    loose = _explain(
        cuts.with_columns(fraction_hi=pl.col("fraction") + REGROWN / pl.col("cwnd_before"))
    )
    late = (pl.col("origin") == "kernel") & (pl.col("law") == "none")
    return cuts.with_columns(law=pl.when(late).then(loose["law"]).otherwise("law"))


def _distance(expected: pl.Expr) -> pl.Expr:
    """How far the fraction lies from ``expected``; null when its bounds exclude it."""
    inside = expected.is_between(pl.col("fraction_lo") - EXACT, pl.col("fraction_hi") + EXACT)
    return pl.when(inside).then((pl.col("fraction") - expected).abs())
