"""What is known of each direction beside its rounds, for `native/src/measure/delays.rs`."""

from __future__ import annotations

import polars as pl

from l4strace.derive import neighbors, one_way, queue_delay
from l4strace.evidence import Capture
from l4strace.schema.keys import KEY


def known(capture: Capture) -> pl.DataFrame:
    """What is known of each direction, in the order of `neighbors.directions`.

    `floor_us`, `owd_base_us`, `overtakes`, and `merged`: its packets hold several segments.
    """
    merged = pl.col("super_packets").fill_null(0) > 0
    found = neighbors.directions(capture).lazy().select(*KEY, merged=merged)
    floors = queue_delay.bases(capture).lazy().select(*KEY, "floor_us")
    bases = one_way.bases(capture).lazy().select(*KEY, "overtakes", "owd_base_us")
    for more in (floors, bases):
        found = found.join(more, on=KEY, how="left", maintain_order="left")
    return found.collect().rechunk()
