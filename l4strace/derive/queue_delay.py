"""THE queue delay of a round: its mean RTT above the smallest RTT of the path.

The smallest is taken over all flows of the path and the whole run, as one input saw them: a flow
that starts into a standing queue never sees its own smallest RTT. A flow whose own floor is flat,
or that never waits as little as its like, has a longer path: its own smallest RTT counts. Where
packets overtake others, a single short RTT is one that skipped a part of the path. A route that
becomes longer during the run reads as queue. At the receiver the time from data to its ACK holds no
queue at all, so a direction captured there has none.

Chart, findings, bottlenecks and spikes all take this one. Only `watch` shows the tracker's running
estimate, above the smallest RTT of the direction so far: it cannot wait for the end of the run.
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import neighbors, numbers, vantage
from l4strace.derive.measured import measured
from l4strace.evidence import Capture, Evidence, kept
from l4strace.schema.keys import DIRECTION, KEY
from l4strace.schema.vantage import receiver

FLAT_SHARE = 0.04
"""Part of the distance to the path's smallest RTT by which a flow's own floor may rise: a longer
path has a floor that a tenth of its rounds touch, a queue that never drains has none. Measured:
0.018 for a path 61 ms longer behind PIE, 0.08 for Prague that holds CoDel's queue (lab run e)."""

APART, LASTED = 1.5, 0.75
"""A flow that lasted about as long as others of its codepoint, and in many rounds never waited
less than this many times what one of them mostly does, has a longer path: they wait in one queue,
or its own began empty. Measured on 472 runs of the lab (seeds 1001 to 1201): 16 directions, all
with a longer path. In one queue 1.1 times at most, but 1.7 times in 30 rounds of one flow."""

EMPTY_US = _native.EMPTY_US
"""Queue delay below which no AQM marks: `measure/queue_waits.rs`."""

OVERTAKEN = 3
"""Overtaken packets of a direction from which its path counts as reordering: by eye."""


@kept
def rounds(capture: Capture) -> pl.DataFrame:
    """The table `rounds` with its column `queue_delay_us`, in us; rows and order are kept."""
    base = numbers.looked_up(capture, bases(capture), "base_us")
    above = (pl.col("rtt_mean_us") - base).clip(lower_bound=0)
    return capture.rounds.with_columns(above.alias("queue_delay_us"))


def waits(evidence: Evidence, asked: pl.DataFrame) -> pl.DataFrame:
    """How long packets of the ``asked`` directions waited, as seen nearest to their senders.

    No row where that is at the receiver.

    Columns: KEY, median queue delay by time (`timed_us`) and by packets (`packets_us`), `low_us`
    that a tenth of the rounds stay below, median packets `in_flight`, `empty_packets` that waited
    less than `EMPTY_US`, and those of them that were marked (`empty_marked`).
    """
    near = vantage.of_rounds(evidence, neighbors.directions(evidence))
    keys = near.join(asked, on=DIRECTION, how="semi").select(KEY).rows()
    return pl.DataFrame(measured(evidence).queue_waits(keys))


@kept
def bases(capture: Capture) -> pl.DataFrame:
    """`base_us` of each direction, which queue delays are above, and its own `floor_us`.

    `floor_rise_us` is how far a tenth of its rounds stay above its own smallest RTT. Directions at
    whose receiver the capture stood have none: their rounds hold no queue.
    """
    near = pl.col("vantage").ne_missing(receiver())
    overtaken = pl.when(near).then("overtaken").fill_null(0).max().over(numbers.paths(capture))
    directions = neighbors.directions(capture).select(
        *(*KEY, "marked_as", "began", numbers.paths(capture)),
        # SACK shows packets that overtook others; where the snaplen cuts it off any may have.
        doubt=(overtaken >= OVERTAKEN)
        | (pl.col("options_cut").fill_null(0).max().over("source", "flow") > 0),
    )
    own = pl.LazyFrame(measured(capture).floors(directions.select("doubt").rechunk()))
    smallest = pl.col("floor_us").min().over("at")
    above = pl.col("floor_us") - smallest
    longer = (pl.col("floor_rise_us") <= FLAT_SHARE * above) | _never_waited_less(above, smallest)
    base = pl.when(longer).then("floor_us").otherwise(smallest)
    joined = directions.lazy().with_row_index("of").join(own, on="of", maintain_order="left")
    found = joined.select(*KEY, "of", base.alias("base_us"), "floor_us", "floor_rise_us")
    return found.collect()


def _never_waited_less(above: pl.Expr, smallest: pl.Expr) -> pl.Expr:
    """Flows that only a longer path delays that much: see `APART`."""
    alike = ("at", "marked_as")
    lasted = pl.col("lasted") >= LASTED * pl.col("lasted").max().over(alike)
    waits = pl.col("usual_us").min().over(alike) - smallest
    seen = pl.col("began") & lasted & pl.col("usual_us").is_not_null()
    return (seen & (above >= APART * waits)).fill_null(False)
