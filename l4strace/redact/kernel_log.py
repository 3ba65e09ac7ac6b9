"""l4strace's own kernel log: fields that a reader knows; no command, notes and host name."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import Any

from l4strace.ingest import untrusted
from l4strace.ingest.logs.kernel_log_check import CLOCKS, TYPES
from l4strace.ingest.logs.samples import SAMPLES
from l4strace.redact import lines, words
from l4strace.redact.aggregates import known
from l4strace.redact.mask import Mask
from l4strace.schema.words import EVENTS

FIELDS = frozenset(name for name in SAMPLES if name != "extra")
PLACES = frozenset(("ring", "nested", "skipped", "late_polls", "write", "map", "log", "poll"))
"""Where samples are lost (collectors/FORMAT.md)."""
ENDINGS = ("duration", "signal", "exit", "error")
COLLECTOR = re.compile(r"(?:bcc|tracefs|diag|kprobes)/[a-z_]{1,20} [\d.]{1,9}")
LAYOUT = re.compile(r"P\d|btf|tcp_probe|parameters|values|tracepoint|given")
UNREAD = lines.UNREAD.encode()


def redacted(blocks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    """Blocks of whole lines -> the same with every line redacted, in the same order."""
    first = True
    for block in blocks:
        rest = block
        if first:
            # A reader knows the header by its place.
            head, _, rest = block.partition(b"\n")
            yield lines.of_json(_header(untrusted.record(head) or {}, mask)) + b"\n"
            first = False
        copies = (_line(line, mask) for line in rest.splitlines() if line.strip())
        yield b"".join(line + b"\n" for line in copies)


def _line(line: bytes, mask: Mask) -> bytes:
    record = untrusted.record(line, strict=True)
    if record is None:
        return lines.refused(line, RECORDS, UNREAD)
    kind = record.get("type")
    make = RECORDS.get(kind) if isinstance(kind, str) else None
    if make is None and kind is not None and not isinstance(kind, str):
        return UNREAD
    copy = make(record, mask) if make else {}
    return UNREAD if copy is None else lines.of_json(copy)


def _sample(record: dict[str, Any], mask: Mask) -> dict[str, Any] | None:
    copy: dict[str, Any] = {"type": "sample"}
    for name, value in record.items():
        if name not in FIELDS or value is None:
            continue
        if name in TEXTS:
            copy[name] = TEXTS[name](str(value), mask)
        elif isinstance(value, (int, float)):
            copy[name] = value
        else:
            # A text where a number should be: the reader leaves such a line out.
            return None
    return copy


def _event(text: str, _mask: Mask) -> str:
    return text if text in EVENTS else "other"


TEXTS = {
    "event": _event,
    "sk": lambda text, mask: mask.socket(text),
    "saddr": lambda text, mask: mask.host(text),
    "daddr": lambda text, mask: mask.host(text),
    "cc": words.congestion_control,
}


def _header(record: dict[str, Any], mask: Mask) -> dict[str, Any]:
    clock, layout = (untrusted.mapping(record.get(name)) for name in ("clock", "layout"))
    fields = untrusted.mapping(record.get("fields"))
    copy: dict[str, Any] = {
        "type": "header",
        "format": "l4strace-kernel-log",
        "version": _number(record.get("version")),
        "collector": _matching(record.get("collector"), COLLECTOR) or "unknown",
        "kernel": words.release(str(record.get("kernel"))),
        "machine": words.value(str(record.get("machine")), mask),
        "command": [],
        "clock": _clock(clock),
        "fields": {n: kind for n, kind in fields.items() if n in FIELDS and _one_of(TYPES, kind)},
        "parameters": {
            words.key(name, mask): words.value(str(value), mask)
            for name, value in untrusted.mapping(record.get("parameters")).items()
        },
    }
    return copy | ({"layout": _layout(layout)} if layout else {})


def _clock(clock: dict[str, Any]) -> dict[str, Any]:
    copy: dict[str, Any] = {
        name: number
        for name in ("unix_offset_ns", "uncertainty_ns")
        if (number := _number(clock.get(name))) is not None
    }
    return copy | ({"id": clock["id"]} if _one_of(CLOCKS, clock.get("id")) else {})


def _layout(layout: dict[str, Any]) -> dict[str, Any]:
    names = {name: _matching(layout.get(name), LAYOUT) for name in ("name", "found")}
    numbers = {name: _number(layout.get(name)) for name in ("alpha_bits", "size")}
    return names | numbers


def _trailer(record: dict[str, Any], _mask: Mask) -> dict[str, Any]:
    counts = {
        name: _counts(record.get(name), names)
        for name, names in (("events", frozenset(EVENTS)), ("lost", PLACES))
    }
    ended = record.get("ended")
    return {
        "type": "trailer",
        "ts_ns": _number(record.get("ts_ns")),
        **counts,
        "clock": _clock(untrusted.mapping(record.get("clock"))),
        "ended": ended if _one_of(ENDINGS, ended) else None,
    }


def _counts(value: object, names: frozenset[str]) -> dict[str, Any]:
    """Counters by known name; those of other names together."""
    copy: dict[str, Any] = {}
    for name, count in untrusted.mapping(value).items():
        number = _number(count)
        kept = name if name in names else "other"
        copy[kept] = copy.get(kept) if number is None else (copy.get(kept) or 0) + number
    return copy


def _lost(record: dict[str, Any], _mask: Mask) -> dict[str, Any]:
    where = record.get("where")
    numbers = {name: _number(record.get(name)) for name in ("ts_ns", "count")}
    return {"type": "lost", "where": where if _one_of(PLACES, where) else "other", **numbers}


def _note(record: dict[str, Any], _mask: Mask) -> dict[str, Any]:
    return {"type": "note", "ts_ns": _number(record.get("ts_ns")), "text": "(removed)"}


def _aggregate(record: dict[str, Any], _mask: Mask) -> dict[str, Any] | None:
    ((name, value),) = known({str(record.get("name")): record.get("value")}).items()
    return {"type": "aggregate", "name": name, "value": value}


RECORDS = {
    "sample": _sample,
    "lost": _lost,
    "aggregate": _aggregate,
    "note": _note,
    "trailer": _trailer,
}


def _number(value: object) -> int | None:
    return untrusted.whole(value, most=2**64)


def _one_of(words: Container[str], value: object) -> bool:
    return isinstance(value, str) and value in words


def _matching(value: object, pattern: re.Pattern[str]) -> str | None:
    return value if isinstance(value, str) and pattern.fullmatch(value) else None
