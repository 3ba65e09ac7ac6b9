"""Reductions of a sender's window that its own log shows, and what marks and losses explain.

For senders in user space: their packets do not show the window, and kernel logs have `cuts`. Also
what the log of any sender shows beside the rounds of its direction.
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import vantage
from l4strace.evidence import Capture, Evidence, kept
from l4strace.prague.constants import FRAC_CWND_UNIT, GAIN_SHIFT, TARGET_RTT_US
from l4strace.schema import TABLES
from l4strace.schema.keys import DIRECTION, KEY
from l4strace.schema.vantage import receiver
from l4strace.schema.words import PRAGUE

ROUNDS_BACK, ROUNDS_AHEAD = 2, 1
"""Round trips before and after a reduction in which marks or losses explain it: those of a round
act at its end, and a log may state them behind the window."""

RATE_RTT_US = 2000
"""RTT up to which UDP Prague controls its rate: its window moves with the RTT (prague_cc.cpp)."""

SRTT_GAIN = 1 / 8
"""Gain of the smoothed RTT in UDP Prague, which its log does not state (prague_cc.cpp)."""

RESPONSES = (
    *(*KEY, "ts_ns", "round"),
    *("cwnd_before", "cwnd_after", "fraction", "fraction_hi"),
)
"""Columns of `responses`."""


SENT = (*KEY, "start_ns", "end_ns", "limited_by")
FED_BACK = ("ce_lo", "ce_hi", "inflight_max_packets", "alpha", "alpha_lo", "alpha_hi")
"""Columns of rounds that stand beside a log, and those that feedback fills."""


@kept
def beside_rounds(evidence: Evidence) -> pl.DataFrame:
    """What logs show beside rounds: one row a direction, from the capture nearest to its sender.

    Columns: KEY; `samples` of `delivered_ce`, and its growth over the rounds between them, beside
    the `low` and `high` bounds of their marks and the `most` of one round; rounds that the window
    limits (`limited`), with medians of the packets `in_flight`, of the `window` of the log, and of
    the part (`error`) by which more is in flight; rounds whose alpha is `replayed`, and the median
    `ratio` of that of the log to the nearest that the replay allows. Null without samples.
    """
    return vantage.of_rounds(evidence, _beside(evidence, evidence.rounds.select(*SENT, *FED_BACK)))


def beside_arrivals(evidence: Evidence) -> pl.DataFrame:
    """What logs show beside the marks that reach the receiver, of flows whose feedback is not read.

    The columns of `beside_rounds`.
    """
    places = evidence.udp_flows.select("source", "flow", "vantage")
    slots = evidence.udp_rounds.join(places, on=["source", "flow"], maintain_order="left")
    here = slots.filter(pl.col("vantage") == receiver())
    return _beside(evidence, here.select(*SENT, ce_lo="ce", ce_hi="ce"))


def _beside(evidence: Evidence, rounds: pl.DataFrame) -> pl.DataFrame:
    needed = (*DIRECTION, "ts_ns", "delivered_ce", "snd_cwnd", "alpha")
    # The widest table: only what is compared is copied.
    samples = pl.concat([log.select(needed) for log in (evidence.kernel, evidence.udp_kernel)])
    if rounds.is_empty():
        samples = samples.clear()
    known = samples.drop_nulls(DIRECTION).sort("ts_ns", maintain_order=True)
    return pl.DataFrame(_native.logged(rounds.rechunk(), known.rechunk()))


@kept
def reductions(capture: Capture) -> pl.DataFrame:
    """One row per reduction: KEY, `ts_ns`, `packets`, `fraction`, its least, `cause`, `half_alpha`.

    `packets` is the window before it, `least` the smallest fraction that whole packets allow;
    `cause` is `loss`, `ce` or null where the log shows neither. `half_alpha` is the most that any
    law of alpha/2 asks for: alpha from 1.
    """
    samples = windows(capture)
    falls = samples.filter(pl.col("window") < pl.col("packets")).with_columns(
        fraction=1 - pl.col("window") / pl.col("packets"),
        least=1 - pl.col("window") / (pl.col("packets") - pl.col("rounded")),
        back_ns=pl.col("ts_ns") - ROUNDS_BACK * pl.col("rtt_ns"),
        ahead_ns=pl.col("ts_ns") + ROUNDS_AHEAD * pl.col("rtt_ns"),
    )
    counters = samples.select(*KEY, "ts_ns", "ce", "lost")
    for edge in ("back", "ahead"):
        names = {name: f"{name}_{edge}" for name in ("ce", "lost")} | {"ts_ns": f"{edge}_ns"}
        falls = falls.sort(f"{edge}_ns").join_asof(
            counters.rename(names), on=f"{edge}_ns", by=list(KEY), check_sortedness=False
        )
    grew = {
        name: pl.col(f"{name}_ahead") > pl.col(f"{name}_back").fill_null(0)
        for name in ("ce", "lost")
    }
    cause = pl.when(grew["lost"]).then(pl.lit("loss")).when(grew["ce"]).then(pl.lit("ce"))
    alphas = _alphas(samples)
    return (
        falls.with_columns(cause=cause)
        .sort("ts_ns")
        .join_asof(alphas, on="ts_ns", by=list(KEY), check_sortedness=False)
        .select(*KEY, "ts_ns", "packets", "fraction", "least", "cause", "half_alpha")
        .sort(*KEY, "ts_ns")
    )


def responses(capture: Capture, counter: str) -> pl.DataFrame:
    """What Prague senders made of their window where `ce` or `lost` of their log grew.

    The columns of RESPONSES; `fraction_hi` is what whole packets allow at most. A log that ends
    within two round trips shows none.
    """
    if capture.udp_kernel.is_empty():
        return TABLES["cuts"].empty().select(RESPONSES)
    samples = windows(capture).join(prague(capture), on=KEY, how="semi", maintain_order="left")
    later = samples.select(*KEY, "ts_ns", "window")
    found = samples.filter(pl.col(counter) > pl.col(counter).shift().over(KEY))
    for rounds in (1, 2):
        edge = f"after_{rounds}_ns"
        found = (
            found.with_columns((pl.col("ts_ns") + rounds * pl.col("rtt_ns")).alias(edge))
            .sort(edge)
            .join_asof(
                later.rename({"window": f"after_{rounds}", "ts_ns": edge}),
                on=edge,
                by=list(KEY),
                check_sortedness=False,
            )
        )
    before, after = pl.col("packets"), pl.min_horizontal("window", "after_1", "after_2")
    last = samples.group_by(KEY).agg(last_ns=pl.col("ts_ns").max())
    return (
        found.join(last, on=KEY)
        .filter(pl.col("after_2_ns") <= pl.col("last_ns"))
        .with_columns(
            cwnd_before=before,
            cwnd_after=after,
            fraction=(1 - after / before).clip(0, 1),
            fraction_hi=(1 - (after - pl.col("rounded")) / before).clip(0, 1),
        )
        .select(RESPONSES)
        .sort(*KEY, "ts_ns")
    )


@kept
def prague(capture: Capture) -> pl.DataFrame:
    """Directions of logs, by KEY, whose sender is Prague or states an alpha as it does."""
    by_name = pl.col("alpha").is_not_null() | pl.col("cc").is_in(PRAGUE)
    known = capture.udp_kernel.filter(pl.col("flow").is_not_null(), by_name)
    return known.select(KEY).unique(maintain_order=True)


@kept
def windows(capture: Capture) -> pl.DataFrame:
    """Samples by time: `window`, that before it (`packets`), `ce`, `lost`, `rtt_ns` and `round`.

    Only logs that count marks and state the window in bytes, or in whole packets (`rounded`) that
    UDP Prague sends: its window does not fall by itself. Samples that are further apart than the
    causes of a reduction reach back, as those of its reports (`-j`), do not show single reductions.
    """
    states = ["delivered", "delivered_ce", "lost_packets", "rs_rtt_us"]
    known = capture.udp_kernel.filter(pl.col("flow").is_not_null())
    whole = pl.col("frac_cwnd").is_null() & pl.col("cc").is_in(PRAGUE)
    so_far = known.sort("ts_ns", maintain_order=True).with_columns(
        pl.when(whole).then(pl.col(name).forward_fill().over(KEY)).otherwise(name).alias(name)
        for name in states
    )
    smooth_us = pl.col("rs_rtt_us").ewm_mean(alpha=SRTT_GAIN, adjust=False, ignore_nulls=True)
    rtt_us = pl.coalesce("srtt_us", pl.when(whole).then(smooth_us.over(KEY)))
    # A message on alpha may be written before the new window, and timed after it.
    counted = (
        so_far.with_columns(rtt_us=rtt_us)
        .filter(pl.col("event") == "poll")
        .select(
            *KEY,
            "ts_ns",
            "delivered",
            window=pl.when(whole & (pl.col("rtt_us") > RATE_RTT_US))
            .then(pl.col("snd_cwnd").cast(pl.Float64))
            .otherwise(pl.col("frac_cwnd") / FRAC_CWND_UNIT),
            rounded=whole.fill_null(False).cast(pl.Int8),
            ce=pl.col("delivered_ce"),
            lost=pl.col("lost_packets").fill_null(0),
            rtt_ns=(pl.col("rtt_us") * 1000).cast(pl.Int64, strict=False),
        )
    )
    stated = counted.filter(pl.col("window") > 0, pl.col("rtt_ns") > 0).with_columns(
        packets=pl.col("window").shift().over(KEY), since_ns=pl.col("ts_ns").diff().over(KEY)
    )
    passed = pl.col("since_ns") / pl.col("rtt_ns")
    numbered = stated.with_columns(
        round=passed.fill_null(0).cum_sum().over(KEY).cast(pl.UInt32, strict=False)
    )
    return numbered.drop_nulls(["ce", "packets"]).filter(passed <= ROUNDS_BACK).drop("since_ns")


def _alphas(samples: pl.DataFrame) -> pl.DataFrame:
    """`half_alpha` at the end of each period of a round trip, or of 25 ms where that is longer."""
    length = pl.max_horizontal(pl.col("rtt_ns").median().over(KEY), TARGET_RTT_US * 1000)
    period = ((pl.col("ts_ns") - pl.col("ts_ns").first().over(KEY)) / length).floor()
    ends = (
        samples.with_columns(period=period)
        .group_by(*KEY, "period", maintain_order=True)
        .agg(pl.col("ts_ns").first(), pl.col("ce", "delivered").max())
    )
    grown = {name: pl.col(name).cast(pl.Int64).diff().over(KEY) for name in ("ce", "delivered")}
    share = (grown["ce"] / grown["delivered"]).fill_nan(None).clip(0, 1).fill_null(1.0)
    smoothed = share.ewm_mean(alpha=0.5**GAIN_SHIFT, adjust=False).over(KEY)
    return ends.select(*KEY, "ts_ns", half_alpha=smoothed / 2)
