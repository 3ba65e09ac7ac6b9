"""The numbers of a whole run, from the rows of its flows: one definition for all origins."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from l4strace.schema.sweep import SWEEP_MEASURES

AVERAGE = pl.coalesce("average_bps", "goodput_bps")
"""Rate of a flow over the run's time, which adds up; goodput where nothing else is known."""


@dataclass(frozen=True)
class Quantity:
    """One number of a run: how it is called, its unit and what it means."""

    title: str
    unit: str
    doc: str


LASTED = 0.5
"""Part of the run that a flow must last for its goodput to be compared: a short flow ends before
it has its share, or has the link while others start. By eye."""

TAKES_ALL = 0.9
"""Part of the goodput from which one class has all: the studies' darkest color. By eye."""

QUANTITIES = {
    "l4s_share": Quantity(
        "L4S throughput share", "share",
        "Payload that the L4S flows carried over that of all flows, without packets their goodput "
        "over that of all flows, each in its own time; null without both kinds.",
    ),
    "l4s_of_link": Quantity(
        "L4S goodput of the link rate", "share",
        "L4S goodput over the rate that a parameter sets.",
    ),
    "l4s_goodput": Quantity(
        "L4S goodput", "bit/s",
        "Payload that all L4S flows carried, over the run's time; without packets each flow's in "
        "its own time.",
    ),
    "classic_goodput": Quantity("classic goodput", "bit/s", "The same of all other flows."),
    "utilization": Quantity(
        "link utilization", "share",
        "Payload of all flows over the run's time, over the rate that a parameter sets, else over "
        "the capacity that packets show.",
    ),
    "jain": Quantity(
        "Jain's index", "",
        "Of the goodput of the flows that lasted at least half of the run's time; 1 is fair, null "
        "with fewer than two.",
    ),
    "l4s_queue_delay": Quantity(
        "L4S queue delay", "us", "Median queue delay of L4S flows, weighted by payload.",
    ),
    "l4s_queue_delay_p99": Quantity(
        "L4S queue delay, P99", "us", "99th percentile, weighted likewise.",
    ),
    "classic_queue_delay": Quantity(
        "classic queue delay", "us", "Median queue delay of the other flows, weighted likewise.",
    ),
    "relative_queue_delay": Quantity(
        "relative queue delay", "",
        "Median queue delay of the L4S flows over that of the classic flows.",
    ),
    "classic_of_link": Quantity(
        "classic goodput of the link rate", "share",
        "Goodput of the other flows over the rate that a parameter sets.",
    ),
    "takes_all": Quantity(
        "one class takes all", "share",
        "1 where the L4S flows or the others have at least 90 % of the goodput, else 0.",
    ),
    "l4s_rtt": Quantity("mean RTT of L4S flows", "us", "Weighted by payload."),
    "classic_rtt": Quantity("mean RTT of classic flows", "us", "Weighted by payload."),
    "rtt": Quantity("mean RTT", "us", "Mean RTT of all flows, weighted by payload."),
    "ping_rtt": Quantity("mean RTT of pings", "us", "From flent's pings, which are Not-ECT."),
    "ping_queue_delay": Quantity(
        "queue delay of pings", "us",
        "Median RTT of flent's pings less the smallest RTT of any series of the run.",
    ),
    "ce_share": Quantity("CE share", "share", "CE packets of the L4S flows' data packets."),
    "classic_ce_share": Quantity(
        "CE share of classic flows", "share", "CE packets of the other flows' data packets.",
    ),
    "losses": Quantity("retransmitted packets", "packet", "Of all flows."),
    "l4s_loss_share": Quantity(
        "loss of L4S flows", "share", "Retransmitted packets over data packets of the L4S flows.",
    ),
    "classic_loss_share": Quantity(
        "loss of classic flows", "share", "Retransmitted packets over data packets of the others.",
    ),
    "completions": Quantity(
        "completed short flows", "",
        "Flows that lasted less than half of the longest flow of the run.",
    ),
    "completion_time": Quantity("completion time", "s", "Median time that these flows lasted."),
    "completion_time_p99": Quantity("completion time, P99", "s", "99th percentile of these times."),
    "transition_state": Quantity(
        "time in transition", "share", "Share of the detector's events between both modes.",
    ),
    "scalable_state": Quantity(
        "time in scalable mode", "share", "Share of the detector's events in scalable mode.",
    ),
    "classic_reductions": Quantity(
        "classic reductions", "share",
        "Of the L4S flows' reductions after CE whose law is known: those of the floor (0.3125) or "
        "by one half.",
    ),
    "classic_state": Quantity(
        "time in classic mode", "share",
        "Share of the events of the fallback's detector in classic mode.",
    ),
    "spike_height": Quantity(
        "highest latency spike", "us", "Largest delay of all spikes; 0 without one.",
    ),
    "spike_length": Quantity(
        "longest latency spike", "s", "Length of the longest spike; 0 without one.",
    ),
    "misfires": Quantity(
        "misfires of the fallback", "", "Directions with L4S301 as warning or error.",
    ),
    "spikes": Quantity("latency spikes", "", "Number of spikes on all paths."),
    "findings": Quantity("findings", "", "Warnings and errors."),
}  # fmt: skip
"""Numbers of whole runs by name, in the order in which they are offered."""
FAIR = {"l4s_share": 0.5}
"""Measures with a fair middle, from which colors diverge."""


def of_flows(flows: pl.DataFrame, rates: pl.DataFrame) -> pl.DataFrame:
    """Rows of the sweep's `measures` from rows of its `flows`, for any number of runs.

    ``rates`` has `run` and `rate_bps` (null where no parameter sets one). A measure that the flows
    do not show has no row.
    """
    l4s = pl.col("l4s").fill_null(False)
    rate = _rate()
    ours, total = rate.filter(l4s).sum(), rate.sum()
    lasted = pl.col("average_bps") / pl.col("goodput_bps")
    compared = pl.col("goodput_bps").filter(lasted.fill_null(1.0) >= LASTED).drop_nulls()
    delay, p99 = pl.col("queue_delay_us"), pl.col("queue_delay_p99_us")
    cuts = pl.col("cuts").filter(l4s).sum()
    lasted_s = pl.col("lasted_s")
    short = (lasted_s < LASTED * lasted_s.max()).fill_null(False)
    wide = (
        flows.join(rates, on="run", how="left")
        .group_by("run", maintain_order=True)
        .agg(
            l4s_share=pl.when(l4s.any() & ~l4s.all()).then(ours / total),
            l4s_of_link=pl.when(l4s.any()).then(ours / pl.col("rate_bps").first()),
            l4s_goodput=pl.when(l4s.any()).then(ours),
            classic_of_link=pl.when(~l4s.all()).then(
                rate.filter(~l4s).sum() / pl.col("rate_bps").first()
            ),
            takes_all=pl.when(l4s.any() & ~l4s.all() & (total > 0)).then(
                (pl.max_horizontal(ours, total - ours) >= TAKES_ALL * total).cast(pl.Float64)
            ),
            l4s_rtt=_weighted(pl.col("rtt_mean_us"), l4s),
            classic_rtt=_weighted(pl.col("rtt_mean_us"), ~l4s),
            classic_ce_share=_weighted(pl.col("ce_share"), ~l4s),
            l4s_loss_share=_lost(l4s),
            classic_loss_share=_lost(~l4s),
            completions=pl.when(lasted_s.count() > 0).then(short.sum()),
            completion_time=lasted_s.filter(short).median(),
            completion_time_p99=lasted_s.filter(short).quantile(0.99, "linear"),
            classic_goodput=pl.when(~l4s.all()).then(rate.filter(~l4s).sum()),
            utilization=pl.coalesce(
                AVERAGE.sum() / pl.col("rate_bps").first(), _sum_of_known(pl.col("utilization"))
            ),
            jain=pl.when(compared.len() > 1).then(
                compared.sum().pow(2) / (compared.len() * compared.pow(2).sum())
            ),
            l4s_queue_delay=_weighted(delay, l4s),
            l4s_queue_delay_p99=_weighted(p99, l4s),
            classic_queue_delay=_weighted(delay, ~l4s),
            relative_queue_delay=_weighted(delay, l4s) / _weighted(delay, ~l4s),
            rtt=_weighted(pl.col("rtt_mean_us"), pl.lit(True)),
            ce_share=_weighted(pl.col("ce_share"), l4s),
            losses=_sum_of_known(pl.col("losses")),
            classic_reductions=pl.col("classic_cuts").filter(l4s).sum() / cuts,
            classic_state=_weighted(pl.col("time_classic"), l4s),
            transition_state=_weighted(pl.col("time_transition"), l4s),
            scalable_state=_weighted(1 - pl.col("time_classic") - pl.col("time_transition"), l4s),
        )
    )
    return rows(wide)


def _rate() -> pl.Expr:
    """Rate of each flow over the run's time; without packets in its own time, as its tool states.

    A load generator starts flows one after the other, and states the rate of each in its own time.
    """
    packets = pl.col("mode").is_not_null().any()
    return pl.when(packets).then(AVERAGE).otherwise(pl.coalesce("goodput_bps", "average_bps"))


def rows(wide: pl.DataFrame, own: Mapping[str, str] | None = None) -> pl.DataFrame:
    """One row per run and measure, from one column per measure; null and non-numbers have none.

    ``own`` are the units of measures that are none of `QUANTITIES`.
    """
    units = dict(own or {}) | {name: quantity.unit for name, quantity in QUANTITIES.items()}
    long = wide.unpivot(index="run", variable_name="name", value_name="value").with_columns(
        pl.col("value").cast(pl.Float64),
        unit=pl.col("name").replace_strict(units, default="", return_dtype=pl.String),
    )
    return SWEEP_MEASURES.conform(long.filter(pl.col("value").is_finite()))


def _weighted(values: pl.Expr, among: pl.Expr) -> pl.Expr:
    """Mean weighted by payload over the flows ``among`` that have a value."""
    weight = pl.when(among & values.is_not_null()).then(AVERAGE)
    return (values * weight).sum() / weight.sum()


def _lost(among: pl.Expr) -> pl.Expr:
    """Retransmitted over data packets of the flows ``among`` whose packets are known."""
    known = among & pl.col("packets").is_not_null()
    return pl.col("losses").filter(known).sum() / pl.col("packets").filter(known).sum()


def _sum_of_known(values: pl.Expr) -> pl.Expr:
    return pl.when(values.count() > 0).then(values.sum())
