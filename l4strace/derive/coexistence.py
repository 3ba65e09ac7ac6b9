"""How flow directions that sent at the same time over the same path divided it.

`native/src/measure/coexistence.rs` compares them, and `starvation.rs` second by second.
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import neighbors
from l4strace.derive.measured import measured
from l4strace.evidence import Capture
from l4strace.schema import TABLES

HELD_BACK, STARVED_SHARE = _native.HELD_BACK, _native.STARVED_SHARE
"""Share of rounds in which a flow had less to send, from which it did not starve; and share of a
pair's rate below which it does: `measure/starvation.rs`."""


def table(capture: Capture) -> pl.DataFrame:
    """One row per ordered pair of overlapping directions, in the schema of `coexistence`."""
    schema = TABLES["coexistence"]
    # Without the options of the SYN the scale of the receive window is unknown.
    cut, begun = pl.col("options_cut").fill_null(0) > 0, pl.col("handshake") != "none"
    known = neighbors.directions(capture).select(
        "marked_as", "max_payload", unmerged=pl.col("super_packets") == 0, scaled=begun & ~cut
    )
    found = pl.DataFrame(measured(capture).coexistence(known.rechunk()))
    return schema.conform(found).sort(schema.key)
