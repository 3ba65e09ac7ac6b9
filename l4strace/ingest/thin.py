"""Bounded memory for long logs: per-ACK samples are thinned, per-round ones never.

A 10 Gbit/s flow logs millions of ACKs, of which one per millisecond says the same. Samples that
show a change (alpha, classic_ecn, ssthresh, CE count, congestion state) always stay, so replay and
verdict see every step.
"""

from __future__ import annotations

import polars as pl

from l4strace.ingest.samples import SAMPLES

LIMIT = 1_000_000
"""Samples that are kept as they are: about 300 MB."""
PER_ACK = ["ack", "probe", "poll"]
TICK_NS = 1_000_000
CHANGES = (
    "alpha_raw",
    "classic_ecn_raw",
    "ssthresh",
    "delivered_ce",
    "ca_state",
    "saw_ce",
    "g_srtt_shift",
)


class Keeper:
    """Collects batches of samples in the order of the log."""

    WHY = "Long log: of per-ACK samples one a millisecond is kept, and all that show a change."

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.thinned = 0
        self._parts: list[pl.DataFrame] = []
        self._kept = 0
        self._dense = True

    def add(self, samples: pl.DataFrame) -> None:
        """Takes one batch, rows in the order of the log."""
        if not self._dense:
            samples = self._thin(samples)
        self._parts.append(samples)
        self._kept += samples.height
        if self._dense and self._kept > self.limit:
            self._dense = False
            whole = self._thin(pl.concat(self._parts))
            self._parts, self._kept = [whole], whole.height

    def finish(self) -> pl.DataFrame:
        """All samples by time; equal stamps stay in the order of the log."""
        if not self._parts:
            return pl.DataFrame(schema=SAMPLES)
        return pl.concat(self._parts, rechunk=True).sort("ts_ns", maintain_order=True)

    def _thin(self, samples: pl.DataFrame) -> pl.DataFrame:
        tick = pl.col("ts_ns") // TICK_NS
        changed = [pl.col(name).ne_missing(pl.col(name).shift()) for name in CHANGES]
        keep = pl.any_horizontal(tick.ne_missing(tick.shift()), *changed).over("sk", "event")
        kept = samples.filter(~pl.col("event").is_in(PER_ACK) | keep)
        self.thinned += samples.height - kept.height
        return kept
