"""bpftrace's JSON: printed lines of known fields, counters of the published scripts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator

from l4strace.ingest import untrusted
from l4strace.redact import fields
from l4strace.redact.aggregates import known
from l4strace.redact.kernel_log import UNREAD
from l4strace.redact.mask import Mask
from l4strace.redact.trace import event_name

EVENT = re.compile(r"(?:^|\s)(event|probe|func)=([\w.]+)")


def redacted(blocks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    """Blocks of whole lines -> the same with every line redacted, in the same order."""
    for block in blocks:
        lines = (_line(line, mask) for line in block.splitlines() if line.strip())
        yield b"".join(line + b"\n" for line in lines)


def _line(line: bytes, mask: Mask) -> bytes:
    record = untrusted.record(line, strict=True)
    if record is None:
        return UNREAD
    kind, data = record.get("type"), record.get("data")
    copy: object
    if kind == "printf" and isinstance(data, str):
        copy = "".join(_printed(part, mask) for part in data.splitlines(keepends=True))
    elif kind in ("map", "hist", "stats"):
        # What is no object stays none.
        copy = known(data) if isinstance(data, dict) else 0
    elif kind == "lost_events":
        copy = {"events": untrusted.whole(untrusted.mapping(data).get("events"))}
    else:
        return b'{"type":"other","data":{}}'
    return json.dumps({"type": kind, "data": copy}, separators=(",", ":")).encode()


def _printed(line: str, mask: Mask) -> str:
    end = "\n" if line.endswith("\n") else ""
    kept = fields.redacted(line, mask)
    if kept is None:
        return "-" + end if line.strip() else end
    names = " ".join(f"{name}={event_name(value)}" for name, value in EVENT.findall(line))
    return " ".join(filter(None, [names, kept])) + end
