"""Samples of kernel state, with the columns of the table `kernel`, as every importer returns them.

An importer names, per column, the fields of its dialect and how they convert; the rest of a line is
kept in `extra`. Addresses and ports stay beside the columns until `join` has found the flow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from l4strace.schema.logs import KERNEL, QDISCS

IDENTITY = {
    "saddr": pl.String(),
    "sport": pl.UInt16(),
    "daddr": pl.String(),
    "dport": pl.UInt16(),
}
"""Who sent, as the log names it: the host under test first."""
ANY = ("0.0.0.0", "::")  # noqa: S104 - a name in a log, and nothing is bound
"""What a socket is bound to that takes every address of its host."""
MOST_DATAGRAMS = 60_000
"""Datagrams of a log, or of a direction of a capture, by which the log's place is looked for."""
MOST_AGGREGATES = 10_000
"""Counters without a time that are kept of a log."""

SAMPLES = pl.Schema(
    {
        c.name: c.dtype
        for c in KERNEL.columns
        if c.name not in ("source", "flow", "forward", "classic_ecn", "alpha_bits")
    }
    | IDENTITY
)
"""`ts_ns` is on the log's own clock; what needs the run or the scale of the build comes later.
`alpha` is that of DCTCP, whose scale is known; Prague's follows from `alpha_raw`."""

DATAGRAMS = pl.Schema(
    {"sk": pl.String(), "ts_ns": pl.Int64(), "along": pl.Boolean(), "bytes": pl.UInt32()}
)
"""Datagrams in a log, on its own clock: `along` the direction that its samples are about, or
against it; `bytes` of the payload are null where the log has times only."""

MAX_SCALED_VALUE = 1 << 48
"""Above what alpha, score and filters take in any build: 17 << 31, and 2^32 us << 10."""
BOUNDS: dict[str, tuple[float, float]] = {
    **dict.fromkeys(("srtt_us", "mdev_us", "srtt_pace_us", "mdev_pace_us"), (0.0, 2.0**32)),
    **dict.fromkeys(("srtt_pace_raw", "mdev_pace_raw", "frac_cwnd"), (0, MAX_SCALED_VALUE)),
    **dict.fromkeys(("alpha_raw", "upscaled_alpha", "alpha_used_raw"), (0, MAX_SCALED_VALUE)),
    "classic_ecn_raw": (-MAX_SCALED_VALUE, MAX_SCALED_VALUE),
    "g_srtt_shift": (0, 31),
    "g_mdev_shift": (0, 31),
    "rs_rtt_us": (0, 2**32),
    "pacing_rate_bps": (0.0, 1e15),
}
"""What a kernel can hold: arithmetic with such values stays within 64 bits."""

INFINITE_SSTHRESH = 0x7FFF_FFFF
"""TCP_INFINITE_SSTHRESH."""
NO_RTT = 0xFFFF_FFFF
"""tcp_min_rtt before the first sample."""

EVENTS = {
    "prague_cong_control": "ack",
    "prague_update_alpha": "alpha",
    "prague_classic_ecn_detection": "detect",
    "prague_enter_cwr": "cwr",
    "prague_classic_ecn_fallback": "fallback",
    "prague_enter_loss": "loss",
    "enter_loss": "loss",
    "prague_init": "init",
    "prague_release": "release",
    "prague_state": "state",
    "tcp_cong_state_set": "state",
    "tcp_probe": "probe",
}
"""Name of a probe -> event of the table `kernel`."""


@dataclass
class Log:
    """One log as read: its samples, its clock and what was lost."""

    path: str
    kind: str
    samples: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SAMPLES))
    qdiscs: pl.DataFrame = field(default_factory=QDISCS.empty)
    """Rows of the table `qdiscs`, on the log's own clock."""
    clock: str = "unknown"
    unix_offset_ns: int | None = None
    end_offset_ns: int | None = None
    uncertainty_ns: int = 0
    records: int = 0
    complete: bool = True
    compression: str | None = None
    bytes_read: int = 0
    alpha_bits: int | None = None
    comment: str | None = None
    aggregates: dict[str, Any] = field(default_factory=dict)
    transport: str = "tcp"
    """What its flows speak, as in `flows.transport`."""
    datagrams: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=DATAGRAMS))
    """What shows where the log of a user-space sender belongs in a capture."""
    bytes_sent: dict[str, int] = field(default_factory=dict)
    """Payload that a socket (`sk`) sent, where the log names no ports to know its flow by."""
    notes: int = 0
    """Notes of the collector that are among ``stats``."""
    stats: list[tuple[str, int, str, str | None]] = field(default_factory=list)
    """Name, count, severity and detail, as in the table `stats`."""

    def lose(self, name: str, count: int, severity: str, detail: str | None = None) -> None:
        """Notes a loss, unless there was none."""
        if count:
            self.stats.append((name, count, severity, detail))


class Fields:
    """The raw columns of one batch, taken one by one; what is not taken goes to `extra`."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self.names = frozenset(frame.columns)
        self.taken: set[str] = set()

    def integer(self, *names: str) -> pl.Expr:
        """The first of the fields that a row has, as Int64; null where it is no integer."""
        return self._first(names, pl.Int64())

    def real(self, *names: str) -> pl.Expr:
        """First of the fields that the batch has, as Float64."""
        return self._first(names, pl.Float64())

    def text(self, *names: str) -> pl.Expr:
        """First of the fields that the batch has, as String."""
        return self._first(names, pl.String())

    def _first(self, names: Sequence[str], dtype: pl.DataType) -> pl.Expr:
        present = [name for name in names if name in self.names]
        self.taken.update(present)
        if not present:
            return pl.lit(None, dtype=dtype)
        return pl.coalesce(pl.col(name).cast(dtype, strict=False) for name in present)

    def rest(self, ignored: Iterable[str] = ()) -> pl.Expr:
        """All fields that were not taken, as one JSON object."""
        dropped = self.taken | set(ignored)
        rest = [
            name
            for name in self.frame.columns
            if name not in dropped and self.frame[name].null_count() < self.frame.height
        ]
        if not rest:
            return pl.lit(None, dtype=pl.String())
        return pl.struct(rest).struct.json_encode()


def by_value(values: pl.Series, made: Callable[[pl.Expr], pl.Expr]) -> pl.Series:
    """``values`` with ``made`` applied once to each distinct value, of which there are few."""
    known = values.drop_nulls().unique()
    results = known.to_frame("value").select(made(pl.col("value"))).to_series()
    return values.replace_strict(known, results, default=None, return_dtype=results.dtype)


def unsigned(expr: pl.Expr, bits: int = 64) -> pl.Expr:
    """Negative and oversized values (a field that was read wrongly) become null."""
    return expr.cast({16: pl.UInt16, 64: pl.UInt64}[bits], strict=False)


def below(expr: pl.Expr, limit: int) -> pl.Expr:
    """Null from ``limit`` on: the kernel's value for infinite or unknown."""
    return pl.when(expr < limit).then(expr)


def bounded(samples: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """``samples`` with null for each value outside `BOUNDS`, and how many there were."""
    inside = {
        name: pl.col(name).is_between(
            pl.lit(least, dtype=SAMPLES[name]), pl.lit(most, dtype=SAMPLES[name])
        )
        for name, (least, most) in BOUNDS.items()
    }
    outside = samples.select(
        (~fits.fill_null(True)).sum().alias(name) for name, fits in inside.items()
    ).row(0)
    wrong = [name for name, count in zip(inside, outside, strict=True) if count]
    nulled = (pl.when(inside[name]).then(pl.col(name)).alias(name) for name in wrong)
    return samples.with_columns(nulled), sum(outside)


def shaped(frame: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with exactly the columns of SAMPLES; missing ones become null."""
    return frame.select(
        pl.col(name).cast(dtype, strict=False)
        if name in frame.columns
        else pl.lit(None, dtype=dtype).alias(name)
        for name, dtype in SAMPLES.items()
    )
