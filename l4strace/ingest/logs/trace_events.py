"""Trace events as text: a tracefs `trace` file, `trace-cmd report`, `perf script`.

The three share one line shape, which the native module reads; `kprobe_events` and `tcp_probe` give
the fields their meaning. Other events in the same file are counted and left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from l4strace import resources
from l4strace.core import _native
from l4strace.ingest import file_names
from l4strace.ingest.logs import kprobe_events, tcp_probe
from l4strace.ingest.logs.blocks import read_through
from l4strace.ingest.logs.samples import SAMPLES, Log, by_value
from l4strace.ingest.logs.thin import Keeper
from l4strace.schema.words import EVENTS, Stat

IDENTITY = ("sk", "sport", "dport_be", "dport")
"""Fields by which an event names its socket."""
MOST_CPUS = 8192
"""NR_CPUS of the largest kernels: a file may name a CPU of its own on each line."""


def read(path: str) -> Log:
    """Reads one file. Raises OSError or ValueError when it cannot be read at all."""
    log = Log(path, "kprobe-events", clock="monotonic")
    keeper, owners, foreign, bare, probes = Keeper(), _Owners(), 0, 0, 0
    lines = _native.LogLines("event")
    for batch in resources.beforehand(_batches(path, lines, log)):
        if batch is None:
            continue
        named = batch.with_columns(event=by_value(batch["event"], kprobe_events.event_name))
        known = named.filter(pl.col("event").is_in(EVENTS))
        # Only an event with fields has a time (see native/src/text_logs/event.rs).
        whole = known.drop_nulls("ts_ns")
        foreign += named.height - known.height
        bare += known.height - whole.height
        probes += whole.filter(pl.col("event") == "probe").height
        keeper.add(_samples(owners.give(keeper.thin(whole))))
    counts = lines.counts()
    log.samples, log.records = keeper.finish(), counts["rows"] - foreign - bare
    log.kind = "tcp-probe" if probes == log.records else "kprobe-events"
    log.lose(Stat.RING_LOST, counts["lost"], "loss", "The ring lost them before they were written.")
    log.lose(
        Stat.LINES_UNREAD, counts["unread"], "loss", f"First in line {counts['first_unread']}."
    )
    log.lose(Stat.LINES_UNREAD, bare, "loss", "Events of tcp_probe or Prague without fields.")
    log.lose(
        Stat.EVENTS_OF_OTHERS, foreign, "info", "Events that are neither tcp_probe nor Prague's."
    )
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


def _samples(batch: pl.DataFrame) -> pl.DataFrame:
    """One batch by the dialect of each of its events, in the order of the log."""
    batch = batch.with_row_index("order")
    parts = []
    for part in batch.partition_by("event"):
        present = part.select(c.name for c in part if c.null_count() < part.height)
        dialect = tcp_probe if part["event"][0] == "probe" else kprobe_events
        parts.append(dialect.samples(present.drop("order")).with_columns(present["order"]))
    if not parts:
        return pl.DataFrame(schema=SAMPLES)
    ordered: pl.DataFrame = pl.concat(parts).sort("order").drop("order")
    return ordered


class _Owners:
    """The socket of the last cut on each CPU: a return probe, which sees none, belongs to it.

    A cut may end one batch and its return probe begin the next.
    """

    def __init__(self) -> None:
        self._cuts = pl.DataFrame(schema={"event": pl.String, "cpu": pl.Int64, "sk": pl.String})

    def give(self, batch: pl.DataFrame) -> pl.DataFrame:
        """``batch``, where each return probe has the socket of the cut around it."""
        # Other events may have a field of that name, which need not be a number.
        batch = batch.with_columns(pl.col("cpu").cast(pl.Int64, strict=False))
        cuts, before = batch.filter(pl.col("event") == "cwr"), self._cuts
        if cuts.height:
            self._cuts = _last(pl.concat([before, _cuts(cuts)], how="diagonal_relaxed"))
        if "fallback" not in batch["event"]:
            return batch
        whole = pl.concat([before, batch], how="diagonal_relaxed")
        cut = pl.when(pl.col("event") == "cwr")
        orphan = pl.when((pl.col("event") == "fallback") & pl.col("sk").is_null())
        names = [name for name in IDENTITY if name in whole.columns]
        owned = (
            orphan.then(pl.coalesce(name, cut.then(pl.col(name)).forward_fill().over("cpu")))
            .otherwise(pl.col(name))
            .alias(name)
            for name in names
        )
        return whole.with_columns(owned)[before.height :]


def _cuts(batch: pl.DataFrame) -> pl.DataFrame:
    """Reductions that later batches need."""
    needed = [name for name in ("event", "cpu", *IDENTITY) if name in batch.columns]
    return batch.filter(pl.col("cpu").is_between(0, MOST_CPUS - 1)).select(needed)


def _last(cuts: pl.DataFrame) -> pl.DataFrame:
    """One row for each CPU, of what was seen last there."""
    # Texts are views into the native batch, of which one would keep all columns alive.
    last = cuts.group_by("cpu").agg(pl.exclude("cpu").drop_nulls().last())
    return last.with_columns(pl.col(pl.String) + pl.lit(""))


def _batches(path: str, lines: _native.LogLines, log: Log) -> Iterator[pl.DataFrame | None]:
    """One table a chunk; None where rows are still too few for one.

    A file may hold no event at all: between two chunks the thread that reads can be stopped.
    """
    chunks = _native.read_text(file_names.opened(path))
    for chunk in chunks:
        yield _frame(lines.feed(chunk))
    yield _frame(lines.finish())
    read_through(chunks, log)


def _frame(table: _native.ArrowTable | None) -> pl.DataFrame | None:
    return None if table is None else pl.DataFrame(table)
