"""Bounded memory for long logs: per-ACK samples are thinned, per-round ones never.

A 10 Gbit/s flow logs millions of ACKs, of which one per round trip shows as much. Samples that show
a change of alpha, classic_ecn, congestion state or filter scale always stay, so replay and verdict
see every step.
"""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from l4strace.ingest.logs.samples import SAMPLES

MAX_SAMPLES = 400_000
"""Samples that are kept as they are: about 120 MB."""
PER_ACK = ["ack", "probe", "poll"]
TICK_NS = 10_000_000
"""The base round trip of a short path, and less than half of Prague's target RTT of 25 ms."""
SOCKET = (
    *("sk", "skaddr", "sock_cookie"),
    *("sport", "dport", "dport_be", "src", "dest"),
)
"""Columns that identify a socket, in SAMPLES and in raw batches; some logs have ports only."""
CHANGES = (
    "alpha",
    "alpha_raw",
    "upscaled_alpha",
    "classic_ecn",
    "classic_ecn_raw",
    "ca_state",
    "ca_state_byte",
    "saw_ce",
    "ecn_state",
    "g_srtt_shift",
)
"""Columns of SAMPLES and, for raw batches, fields of the dialects."""


class Keeper:
    """Collects batches of samples in the order of the log."""

    WHY = "Long log: of per-ACK samples one in 10 ms is kept, and all that show a change."

    def __init__(self, limit: int = MAX_SAMPLES) -> None:
        self.limit = limit
        self.thinned = 0
        self._parts: list[pl.DataFrame] = []
        self._kept = 0
        self._dense = True

    def early(self, columns: Iterable[str]) -> tuple[int, list[str], list[str]] | None:
        """How `_native.samples` thins records with those ``columns``, once the limit is passed.

        `add` would drop the same records: it thins block by block, too, and a change of a watched
        column of SAMPLES shows in one of these. So the result is the same whether the thread that
        reads a block asks before or after the limit is passed.
        """
        if self._dense:
            return None
        return TICK_NS, PER_ACK, [name for name in columns if name in (*CHANGES, "cc")]

    def thin(self, batch: pl.DataFrame) -> pl.DataFrame:
        """The rows of a raw batch to convert (columns ts_ns, event and the dialect's own)."""
        return batch if self._dense else self._thin(batch)

    def add(self, samples: pl.DataFrame) -> None:
        """Takes one batch of SAMPLES, rows in the order of the log."""
        if not self._dense:
            samples = self._thin(samples)
        # Texts are views into the native batch, of which one would keep all columns alive.
        texts = [name for name in _held(samples) if samples.schema[name] == pl.String]
        samples = samples.with_columns(pl.col(texts) + pl.lit(""))
        self._parts.append(samples)
        self._kept += samples.height
        if self._dense and self._kept > self.limit:
            self._dense = False
            whole = self._thin(pl.concat(self._parts))
            self._parts, self._kept = [whole], whole.height

    def finish(self) -> pl.DataFrame:
        """All samples by time; equal timestamps stay in the order of the log."""
        if not self._parts:
            return pl.DataFrame(schema=SAMPLES)
        whole = pl.concat(self._parts)
        self._parts = []
        return whole.sort("ts_ns", maintain_order=True)

    def _thin(self, samples: pl.DataFrame) -> pl.DataFrame:
        tick = pl.col("ts_ns") // TICK_NS
        held = _held(samples)
        watched = [pl.col(name) for name in CHANGES if name in held]
        shows = [tick.ne_missing(tick.shift()), *(c.ne_missing(c.shift()) for c in watched)]
        over = ["event", *(name for name in SOCKET if name in samples.columns)]
        keep = pl.any_horizontal(shows).over(over)
        kept = samples.filter(~pl.col("event").is_in(PER_ACK) | keep)
        self.thinned += samples.height - kept.height
        return kept


def _held(samples: pl.DataFrame) -> list[str]:
    """Columns that have a value: nothing is done to others."""
    return [name for name in samples.columns if samples[name].null_count() < samples.height]
