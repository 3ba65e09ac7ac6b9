"""THE queue delay of a round: its mean RTT above the smallest RTT of the path.

The smallest is taken over all flows of the path and the whole run, as one input saw them: a flow
that starts into a standing queue never sees its own smallest RTT. A flow whose own floor is flat
has a longer path: its own smallest RTT counts. Where packets overtake others, a single short RTT is
one that skipped a part of the path. A route that becomes longer during the run reads as queue. At
the receiver the time from data to its ACK holds no queue at all, so a direction captured there has
none.

Chart, findings, bottlenecks and spikes all take this one. Only `watch` shows the tracker's running
estimate, above the smallest RTT of the direction so far: it cannot wait for the end of the run.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import company
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import KEY
from l4strace.schema.vantage import receiver

LOW = 0.1
"""Quantile in place of the smallest, which one odd round decides. By eye."""

FLAT_SHARE = 0.04
"""Part of the distance to the path's smallest RTT by which a flow's own floor may rise: a longer
path has a floor that a tenth of its rounds touch, a queue that never drains has none. Measured:
0.018 for a path 61 ms longer behind PIE, 0.08 for Prague that holds CoDel's queue (lab run e)."""

OVERTAKEN = 3
"""Overtaken packets of a direction from which its path counts as reordering: by eye."""

NEEDED = (
    *KEY,
    *("round", "start_ns", "end_ns", "first_frame", "last_frame", "acked_packets", "acked_bytes"),
    *("ce", "ce_best", "ce_bytes", "ece_acks", "inflight_max_packets", "queue_delay_us"),
    *("limited_by", "goodput_bps", "retransmits", "burst_bytes", "slow_start"),
    *("rtt_min_us", "rtt_mean_us", "rtt_max_us", "rtt_samples", "rtt_jitter_us", "train_bps"),
    *("marked_rtt_min_us", "marked_owd_min_us", "owd_min_us", "owd_mean_us", "owd_max_us"),
    *("sent_packets", "sacked_rtt_max_us"),
)
"""Columns of `rounds` that the derived tables look at: the others need not be copied."""


@kept
def rounds(capture: Capture) -> pl.DataFrame:
    """The table `rounds` with its column `queue_delay_us`, in us; rows and order are kept."""
    seen = _seen(capture, "rtt_mean_us")
    seen = seen.join(_bases(seen), on=KEY, how="left", maintain_order="left")
    holds_queue = pl.col("vantage").ne_missing(receiver())
    above = (pl.col("rtt_mean_us") - pl.col("base_us")).clip(lower_bound=0)
    delay = seen.select(queue_delay_us=pl.when(holds_queue).then(above)).to_series()
    return capture.rounds.with_columns(delay)


@kept
def bases(capture: Capture) -> pl.DataFrame:
    """`base_us` of each direction, which queue delays are above, and its own `floor_us`.

    `floor_rise_us` is how far a tenth of its rounds stay above its own smallest RTT.
    """
    return _bases(_seen(capture))


def _seen(capture: Capture, *more: str) -> pl.DataFrame:
    """RTTs of all rounds in their order, with what is known of their direction."""
    cut = pl.col("options_cut").fill_null(0).max().over("source", "flow") > 0
    of = company.directions(capture).select(*KEY, "path", "vantage", "overtaken", cut.alias("cut"))
    rounds = capture.rounds.select(*KEY, "start_ns", "rtt_min_us", *more)
    return rounds.join(of, on=KEY, how="left", maintain_order="left")


def least() -> pl.Expr:
    """Smallest RTT of a round; where packets may overtake, one that a round beside it confirms.

    The median of three rounds in a row: a packet that overtook has no company. SACK shows such
    packets, so where the snaplen cuts it off any may have.
    """
    own = pl.col("rtt_min_us")
    before, after = (own.shift(step).over(KEY).fill_null(own) for step in (1, -1))
    three = (before, own, after)
    middle = pl.sum_horizontal(three) - pl.min_horizontal(three) - pl.max_horizontal(three)
    overtakes = pl.col("overtaken").fill_null(0).max().over("source", "path") >= OVERTAKEN
    return pl.when((overtakes | pl.col("cut")) & own.is_not_null()).then(middle).otherwise(own)


def _bases(seen: pl.DataFrame) -> pl.DataFrame:
    holds_queue = pl.col("vantage").ne_missing(receiver())
    near = seen.filter(holds_queue).with_columns(least().alias("rtt_min_us"))
    own = near.group_by(*KEY, "path").agg(
        pl.col("rtt_min_us").min().alias("floor_us"),
        (pl.col("rtt_min_us").quantile(LOW) - pl.col("rtt_min_us").min()).alias("floor_rise_us"),
    )
    smallest = pl.col("floor_us").min().over("source", "path")
    longer = pl.col("floor_rise_us") <= FLAT_SHARE * (pl.col("floor_us") - smallest)
    base = pl.when(longer).then("floor_us").otherwise(smallest)
    return own.select(*KEY, base.alias("base_us"), "floor_us", "floor_rise_us")


@kept
def on_paths(capture: Capture) -> pl.DataFrame:
    """Rounds near enough to the sender to hold queue, with `path`, `marked_as`, `mode`, `marks`.

    And with `base_us`, `floor_us` and `floor_rise_us` of their direction (see `bases`).
    """
    of = company.directions(capture).select(*KEY, "path", "marked_as", "vantage", "mode")
    near = of.filter(pl.col("vantage").ne_missing(receiver()))
    near = near.join(bases(capture), on=KEY, how="left")
    near = near.join(company.counters(capture), on=KEY, how="left")
    joined = rounds(capture).select(NEEDED).join(near, on=KEY, how="inner")
    counted = (pl.col("ce_bytes").fill_null(0) / pl.col("option_mss")).ceil().cast(pl.Int64)
    mangled = pl.col("mangled").fill_null(False)
    return joined.with_columns(
        pl.when(mangled).then(counted).otherwise(company.marks()).alias("marks"),
        # Which ACKs report a mark is known from ACE alone.
        pl.when(~mangled).then("marked_rtt_min_us").alias("marked_rtt_min_us"),
    ).drop("mangled", "option_mss")
