"""l4strace's own kernel log (collectors/FORMAT.md): reader, and by `-m` a strict validator.

The reader is lenient: a cut or damaged line is counted and left out. `check` is strict and names
the line of each fault.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, islice
from typing import Any, NamedTuple

import polars as pl

from l4strace import resources
from l4strace.core import _native
from l4strace.errors import InputError
from l4strace.ingest import untrusted
from l4strace.ingest.logs.blocks import BAD_LINES, BLOCK_BYTES, blocks, ended, kinds, whole
from l4strace.ingest.logs.kernel_log_check import TYPES, check_line, finished
from l4strace.ingest.logs.samples import IDENTITY, MOST_AGGREGATES, SAMPLES, Log, shaped
from l4strace.ingest.logs.thin import Keeper
from l4strace.prague.constants import DCTCP, GAIN_SHIFT
from l4strace.schema.words import Stat, lost_in

WIDE_DTYPES: dict[type[pl.DataType], pl.DataType] = dict.fromkeys(
    (pl.UInt8, pl.UInt16, pl.UInt32), pl.Int64()
)
"""Integers are read with 64 bits; columns narrow them."""
NAMED = frozenset(("type", *SAMPLES, *IDENTITY))
"""Fields that have a column, and those that need none."""
MOST_BITS = 31
"""Widest alpha of any build (P0)."""
MOST_FIELDS = 100
"""Fields that a header may declare; the collectors declare 40."""
MOST_NOTES = 100
"""Notes of one log that are shown."""
MOST_FAULTS = 20
"""Faults of one log that `check` names: each line of another file is one."""
MOST_PLACE = 40
"""Characters of the name of a place that lost samples."""


def read(path: str) -> Log:
    """Reads one log. Raises ValueError when its first line is no header of this format."""
    log, keeper = Log(path, "kernel-log", complete=False), Keeper()
    lines = untrusted.lines(path, BLOCK_BYTES)
    first = next(lines, None)
    if first is None:
        raise ValueError("an empty kernel log")
    schema = _schema(_header(first.first_line(), log)["fields"])
    rows, rest = partial(_rows, schema=schema, keeper=keeper), Rest()
    for found in resources.ahead(rows, chain([first], lines)):
        log.lose(Stat.LINES_UNREAD, found.unread, "loss", BAD_LINES)
        log.records += found.seen
        keeper.thinned += found.thinned
        keeper.add(_samples(found.frame))
        for kind, line in found.others:
            _take(kind, line, log, rest)
    _end(rest, log)
    ended(lines, log)
    log.samples = keeper.finish()
    if not log.complete and not any(name == Stat.TRUNCATED_FILE for name, *_ in log.stats):
        log.lose(Stat.NO_TRAILER, 1, "loss", "The log was cut short: its trailer is missing.")
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


class Found(NamedTuple):
    """Contents of one block of the log."""

    frame: pl.DataFrame
    """Samples of the block."""
    unread: int
    """Lines that do not fit."""
    seen: int
    """Samples, with those that were thinned."""
    thinned: int
    others: list[tuple[str, bytes]]
    """Notes, aggregates, losses and the trailer: type and line."""


class Rest:
    """Records that are evaluated at the end of the log."""

    def __init__(self) -> None:
        self.trailer: dict[str, Any] | None = None
        self.lost: Counter[str] = Counter()
        """Lost samples by place, for a log without trailer."""


def _rows(block: _native.Block, schema: pl.Schema, keeper: Keeper) -> Found:
    found = _native.samples(block, kinds(schema), keeper.early(schema))
    table, unread, seen, thinned, others = found
    return Found(whole(table, schema), unread, seen, thinned, others)


def _header(line: bytes, log: Log) -> dict[str, Any]:
    header = untrusted.record(line)
    if header is None or header.get("format") != "l4strace-kernel-log":
        raise ValueError("the first line is not a header of a kernel log")
    if header.get("version") != 1:
        version = str(header.get("version"))[:20]
        raise ValueError(f"kernel log of version {version}; this l4strace reads 1")
    clock = untrusted.mapping(header.get("clock"))
    log.clock = untrusted.text(clock.get("id")) or "unknown"
    log.unix_offset_ns = untrusted.time_ns(clock.get("unix_offset_ns"))
    log.uncertainty_ns = untrusted.time_ns(clock.get("uncertainty_ns")) or 0
    _take_width(untrusted.mapping(header.get("layout")).get("alpha_bits"), log)
    command = header.get("command") or []
    log.comment = " ".join(map(str, command)) if isinstance(command, list) else str(command)
    fields = untrusted.mapping(header.get("fields")).items()
    return header | {"fields": dict(list(fields)[:MOST_FIELDS])}


def _take_width(bits: object, log: Log) -> None:
    """A width that no kernel can have is not taken: 2^bits is computed with it."""
    log.alpha_bits = untrusted.whole(bits, 1, MOST_BITS)
    if bits is not None and log.alpha_bits is None:
        log.lose(
            Stat.ALPHA_SCALE_UNKNOWN, 1, "info", f"alpha_bits is {str(bits)[:20]}: not a width."
        )


def _schema(fields: dict[str, Any]) -> pl.Schema:
    """Columns of the declared fields and of those that are known."""
    kinds = {name: kind for name, kind in fields.items() if isinstance(kind, str)}
    declared = {name: TYPES[kind] for name, kind in kinds.items() if kind in TYPES}
    known = {name: dtype for name, dtype in SAMPLES.items() if name != "extra"}
    # A column keeps its type whatever the header claims.
    wide = {name: WIDE_DTYPES.get(type(dtype), dtype) for name, dtype in (declared | known).items()}
    return pl.Schema(wide | {"type": pl.String()})


def _samples(rows: pl.DataFrame) -> pl.DataFrame:
    # Only what has values is looked at: to do more makes room for columns without any.
    held = {name for name in rows.columns if rows[name].null_count() < rows.height}
    rest = [name for name in rows.columns if name in held - NAMED]
    extra = _extra(rows.select(rest))
    made = {
        "alpha": pl.when(pl.col("cc") == DCTCP).then("alpha"),
        "upscaled_alpha": _downscaled().alias("alpha_raw"),
        "srtt_pace_raw": _unshifted("srtt_pace_us", "srtt_pace_raw", "g_srtt_shift"),
        "mdev_pace_raw": _unshifted("mdev_pace_us", "mdev_pace_raw", "g_mdev_shift"),
    }
    return shaped(rows.with_columns(*(made[name] for name in made if name in held), extra=extra))


def _extra(rest: pl.DataFrame) -> pl.Series | pl.Expr:
    """Each row's other fields as a JSON object; null where it has none."""
    if not rest.width:
        return pl.lit(None, dtype=pl.String())
    filled = rest.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    texts = rest.filter(filled).select(pl.struct(pl.all()).struct.json_encode()).to_series()
    place = pl.DataFrame({"filled": filled}).select(
        pl.when("filled").then(pl.col("filled").cum_sum() - 1)
    )
    return texts.gather(place.to_series())


def _downscaled() -> pl.Expr:
    return pl.coalesce("alpha_raw", pl.col("upscaled_alpha") // (1 << GAIN_SHIFT))


def _unshifted(plain: str, raw: str, shift: str) -> pl.Expr:
    return pl.coalesce(plain, pl.col(raw) / pl.lit(2.0).pow(pl.col(shift)))


def _take(kind: str, line: bytes, log: Log, rest: Rest) -> None:
    """Handles a note, an aggregate, a loss or the trailer."""
    record = untrusted.record(line)
    if record is None:
        log.lose(Stat.LINES_UNREAD, 1, "loss", BAD_LINES)
    elif kind == "note" and log.notes < MOST_NOTES:
        log.lose(Stat.NOTE, 1, "info", untrusted.text(record.get("text")))
        log.notes += 1
    elif kind == "aggregate" and len(log.aggregates) < MOST_AGGREGATES:
        log.aggregates[untrusted.text(str(record.get("name"))) or ""] = record.get("value")
    elif kind == "lost":
        where = untrusted.text(record.get("where"), MOST_PLACE) or ""
        if where in rest.lost or len(rest.lost) < MOST_FIELDS:
            rest.lost[where] += untrusted.whole(record.get("count"), 0, 2**53) or 1
    elif kind == "trailer":
        rest.trailer = record


def _end(rest: Rest, log: Log) -> None:
    if rest.trailer is None:
        # A collector that was killed wrote no sums.
        _lose(rest.lost, log)
        return
    trailer, log.complete = rest.trailer, True
    if log.alpha_bits is None:
        _take_width(untrusted.mapping(trailer.get("layout")).get("alpha_bits"), log)
    log.end_offset_ns = untrusted.time_ns(
        untrusted.mapping(trailer.get("clock")).get("unix_offset_ns")
    )
    _lose(_counts(trailer.get("lost"), log), log)
    counted = sum(_counts(trailer.get("events"), log).values())
    if counted != log.records:
        missing = f"The trailer counts {counted:,} samples, the log holds {log.records:,}."
        log.lose(Stat.SAMPLES_MISSING, abs(counted - log.records), "loss", missing)


def _lose(lost: Mapping[str, int], log: Log) -> None:
    for place, count in lost.items():
        where = untrusted.text(place, MOST_PLACE) or "log"
        log.lose(lost_in(where), count, "loss", f"Samples lost in the {where}.")


def _counts(value: object, log: Log) -> dict[str, int]:
    """Counters by name; entries that are not counters count as damage."""
    found = {name: untrusted.whole(n, 0, 2**53) for name, n in untrusted.mapping(value).items()}
    bad = sum(count is None for count in found.values())
    log.lose(Stat.LINES_UNREAD, bad, "loss", BAD_LINES)
    return {name: count for name, count in list(found.items())[:MOST_FIELDS] if count is not None}


def check(path: str) -> list[str]:
    """Faults of a log, each with its line number, the first 20; empty when it keeps to the format.

    Raises InputError for what cannot be read.
    """
    found = list(islice(_faults(path), MOST_FAULTS + 1))
    return found[:MOST_FAULTS] + ["more faults follow"] * (len(found) > MOST_FAULTS)


def _faults(path: str) -> Iterator[str]:
    state: dict[str, Any] = {}
    number = 0
    for block in blocks(path, Log(path, "kernel-log")):
        for line in bytes(block).splitlines():
            number += 1
            yield from (f"line {number}: {fault}" for fault in check_line(number, line, state))
    yield from (f"line {number}: {fault}" for fault in finished(state))


def main(paths: Sequence[str]) -> int:
    """Prints the faults of each log; 1 with a fault, 2 without a log, 3 if one cannot be read."""
    if not paths:
        print("usage: python3 -m l4strace.ingest.logs.kernel_log FILE...", file=sys.stderr)
        return 2
    try:
        faults = [f"{path}: {fault}" for path in paths for fault in check(path)]
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
