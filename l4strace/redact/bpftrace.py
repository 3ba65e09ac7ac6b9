"""bpftrace's JSON: printed lines of known fields, counters of the published scripts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from l4strace.ingest import untrusted
from l4strace.ingest.logs.bpftrace import MAPS
from l4strace.redact import fields, lines
from l4strace.redact.aggregates import known
from l4strace.redact.mask import Mask

KINDS = ("printf", *MAPS, "lost_events")
UNREAD = b'{"type":"other","data":'
"""Replacement of an unreadable line: not a record, but it still identifies the dialect of the
file."""


def redacted(blocks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    """Blocks of whole lines -> the same with every line redacted, in the same order."""
    for block in blocks:
        copies = (_line(line, mask) for line in block.splitlines() if line.strip())
        yield b"".join(line + b"\n" for line in copies)


def _line(line: bytes, mask: Mask) -> bytes:
    record = untrusted.record(line, strict=True)
    if record is None:
        return lines.refused(line, KINDS, UNREAD)
    kind, data = record.get("type"), record.get("data")
    copy: object
    if kind == "printf":
        # What is no text has no line end: it spoils the first field after it, in a copy too.
        text = data if isinstance(data, str) else "" if data is None else "0"
        copy = "".join(_printed(part, mask) for part in text.splitlines(keepends=True))
    elif kind in MAPS:
        # What is no object stays none.
        copy = known(data) if isinstance(data, dict) else 0
    elif kind == "lost_events":
        copy = {"events": untrusted.whole(untrusted.mapping(data).get("events"))}
    else:
        return b'{"type":"other","data":{}}'
    return lines.of_json({"type": kind, "data": copy})


def _printed(line: str, mask: Mask) -> str:
    end = "\n" if line.endswith("\n") else ""
    kept = fields.redacted(line, mask)
    if kept is None:
        return "-" + end if line.strip() else end
    return kept + end
