"""The `acks` table: what each ACK changed, beside the kernel's sample of that moment."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from l4strace.evidence import Capture
from l4strace.ingest import packets
from l4strace.ingest.packets import WHOLE_RUN, Progress, Stretch
from l4strace.schema import TABLES
from l4strace.schema.keys import DIRECTION
from l4strace.schema.packets import OF_KERNEL

NAMES = tuple(name for name, _, _ in OF_KERNEL)
BESIDE = ("kernel_ns", "kernel_event", *NAMES)
"""What a sample adds to an ACK."""


def batches(
    capture: Capture, progress: Progress | None = None, stretch: Stretch = WHOLE_RUN
) -> Iterator[pl.DataFrame]:
    """The ACKs of a run, source by source, with its flow numbers and on its clock."""
    known = samples(capture.kernel)
    for source in packets.sources(capture):
        for frame in packets.acks_of_source(capture, source, progress, stretch):
            yield TABLES["acks"].conform(beside(frame, known))


def samples(kernel: pl.DataFrame) -> pl.DataFrame:
    """What stands beside ACKs, in the order of time."""
    moment = pl.col("ts_ns").alias("kernel_ns")
    event = pl.col("event").alias("kernel_event")
    known = kernel.filter(pl.col("flow").is_not_null() & pl.col("forward").is_not_null())
    return known.select(*DIRECTION, "ts_ns", "snd_una", moment, event, *NAMES).sort("ts_ns")


def beside(acks: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Each ACK with its sample: the nearest with its number, else the last one before it."""
    if known.is_empty():
        return acks
    ordered = acks.sort("ts_ns", maintain_order=True)
    numbered = known.filter(pl.col("snd_una").is_not_null()).rename({"snd_una": "ack_raw"})
    own = ordered.join_asof(
        numbered, on="ts_ns", by=[*DIRECTION, "ack_raw"], strategy="nearest", check_sortedness=False
    )
    last = ordered.join_asof(
        known.drop("snd_una"), on="ts_ns", by=DIRECTION, check_sortedness=False
    )
    exact = own["kernel_ns"].is_not_null()
    joined = own.with_columns(
        pl.when(exact).then(pl.col(name)).otherwise(last[name]).alias(name) for name in BESIDE
    )
    found = joined["kernel_ns"].is_not_null()
    shown = pl.when(found).then(exact).alias("kernel_exact")
    return joined.with_columns(shown).sort("frame", maintain_order=True)
