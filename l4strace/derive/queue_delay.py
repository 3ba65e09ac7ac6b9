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
from l4strace.derive import company, numbers
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import KEY
from l4strace.schema.vantage import receiver

LOW = 0.1
"""Quantile in place of the smallest, which one odd round decides. By eye."""

FLAT_SHARE = 0.04
"""Part of the distance to the path's smallest RTT by which a flow's own floor may rise: a longer
path has a floor that a tenth of its rounds touch, a queue that never drains has none. Measured:
0.018 for a path 61 ms longer behind PIE, 0.08 for Prague that holds CoDel's queue (lab run e)."""

FLAT_US = 100.0
"""Rise of the floor above its smallest RTT in a tenth of the rounds, up to which it was seen empty:
a tenth of DualPI2's step. Measured: at most 30 us behind DualPI2, 400 us and more behind CoDel."""

APART, LASTED, MANY = 1.5, 0.75, 50
"""A flow that lasted about as long as others of its codepoint, and in so many rounds never waited
less than this many times what one of them mostly does, has a longer path: they wait in one queue,
or its own began empty. Measured on 472 runs of the lab (seeds 1001 to 1201): 16 directions, all
with a longer path. In one queue 1.1 times at most, but 1.7 times in 30 rounds of one flow."""

OVERTAKEN = 3
"""Overtaken packets of a direction from which its path counts as reordering: by eye."""


@kept
def rounds(capture: Capture) -> pl.DataFrame:
    """The table `rounds` with its column `queue_delay_us`, in us; rows and order are kept."""
    base = numbers.looked_up(capture, bases(capture), "base_us")
    above = (pl.col("rtt_mean_us") - base).clip(lower_bound=0)
    return capture.rounds.with_columns(above.alias("queue_delay_us"))


@kept
def bases(capture: Capture) -> pl.DataFrame:
    """`base_us` of each direction, which queue delays are above, and its own `floor_us`.

    `floor_rise_us` is how far a tenth of its rounds stay above its own smallest RTT. Directions at
    whose receiver the capture stood have none: their rounds hold no queue.
    """
    of, paths = numbers.directions(capture), numbers.paths(capture)
    directions = _directions(capture).lazy().with_row_index("of").with_columns(paths)
    seen = capture.rounds.select("rtt_min_us", "start_ns", "end_ns", of=of)
    near = directions.filter("near", pl.col("of").is_in(of.unique().implode())).collect()
    overtakes = pl.col("overtaken").fill_null(0).max().over("at") >= OVERTAKEN
    doubtful = near.filter(overtakes | pl.col("cut"))["of"]
    # Which they are in what the tracker makes.
    seen = seen if of.is_sorted() else seen.sort("of", maintain_order=True)
    if doubtful.len():
        in_doubt = pl.col("of").is_in(doubtful.implode())
        seen = seen.with_columns(pl.when(in_doubt).then(confirmed()).otherwise("rtt_min_us"))
    own = pl.LazyFrame(_native.path_floors(seen.rechunk(), LOW, MANY))
    smallest = pl.col("floor_us").min().over("at")
    above = pl.col("floor_us") - smallest
    longer = (pl.col("floor_rise_us") <= FLAT_SHARE * above) | _never_waited_less(above, smallest)
    base = pl.when(longer).then("floor_us").otherwise(smallest)
    joined = near.lazy().join(own, on="of", how="left", maintain_order="left")
    found = joined.select(*KEY, "of", base.alias("base_us"), "floor_us", "floor_rise_us")
    return found.collect()


def _never_waited_less(above: pl.Expr, smallest: pl.Expr) -> pl.Expr:
    """Flows that only a longer path delays that much: see `APART`."""
    alike = ("at", "marked_as")
    lasted = pl.col("lasted") >= LASTED * pl.col("lasted").max().over(alike)
    waits = pl.col("usual_us").min().over(alike) - smallest
    seen = pl.col("began") & lasted & (pl.col("rounds") >= MANY)
    return (seen & (above >= APART * waits)).fill_null(False)


@kept
def _directions(capture: Capture) -> pl.DataFrame:
    """Of each direction, `near` (its rounds hold queue), `overtaken`, and whether SACK is `cut`."""
    return company.directions(capture).select(
        *KEY,
        "overtaken",
        "marked_as",
        began=pl.col("handshake") != "none",
        near=pl.col("vantage").ne_missing(receiver()),
        cut=pl.col("options_cut").fill_null(0).max().over("source", "flow") > 0,
    )


def confirmed() -> pl.Expr:
    """Smallest RTT of a round where packets may overtake: one that a round beside it confirms.

    The median of three rounds in a row: a packet that overtook has no company. The first and the
    last round have one beside them only, which then counts twice: none confirms itself. SACK shows
    such packets, so where the snaplen cuts it off any may have. Needs rows by their direction `of`.
    """
    own, of = pl.col("rtt_min_us"), pl.col("of")
    # As ``shift().over("of")``, which makes a group of every direction.
    before, after = (pl.when(of == of.shift(step)).then(own.shift(step)) for step in (1, -1))
    three = (pl.coalesce(before, after, own), own, pl.coalesce(after, before, own))
    middle = pl.sum_horizontal(three) - pl.min_horizontal(three) - pl.max_horizontal(three)
    return pl.when(own.is_not_null()).then(middle)
