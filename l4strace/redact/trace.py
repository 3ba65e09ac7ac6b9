"""Trace events as text: times, known events with known fields; no task names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from ipaddress import ip_address

from l4strace.redact import fields
from l4strace.redact.lines import UNREAD
from l4strace.redact.mask import Mask

LINE = re.compile(
    r".*?\[(?P<cpu>\d{1,6})\](?:[^\[\]]*?[\s\]])?(?P<time>\d{1,12}\.\d{6,9}):\s+"
    r"(?:[\w.]+:)*(?P<event>[A-Za-z_.][\w.]*):(?=\s|$)(?P<rest>.*)"
)
"""The first time with six decimals after a CPU: a task's name (15 bytes) cannot hold both."""
LOCATION = re.compile(r"\s*\([^)]*\)")
ARRAY = re.compile(r"\b([sd]addr)=ARRAY\[([0-9a-f, ]*)\]?")
"""An address that `trace-cmd report` prints as bytes."""
SOCKADDR = 28
"""Bytes of the larger of the two."""
WRITTEN = re.compile(r"#\s*entries-in-buffer/entries-written:\s*(\d{1,19})/(\d{1,19})")
LOST = re.compile(r"LOST (\d{1,19}) EVENT", re.IGNORECASE)
PRINTED = frozenset(("tracing_mark_write", "print", "bprint", "bputs"))


def redacted(blocks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    """Blocks of whole lines -> the same with every line redacted, in the same order."""
    for block in blocks:
        text = block.decode("utf-8", "replace")
        # Not splitlines(): only `\n` ends a line here, as in the reader.
        lines = (_line(line.rstrip(), mask) for line in text.removesuffix("\n").split("\n"))
        yield "".join(f"{line}\n" for line in lines).encode()


def _line(line: str, mask: Mask) -> str:
    if found := LINE.fullmatch(line):
        return _event(found, mask)
    if found := LOST.search(line):
        return f"CPU:0 [LOST {found[1]} EVENTS]"
    if found := WRITTEN.match(line):
        return f"# entries-in-buffer/entries-written: {found[1]}/{found[2]}"
    if line.startswith("# tracer:"):
        return "# tracer: nop"
    return "#" if line.startswith("#") else UNREAD if line else ""


def _event(found: re.Match[str], mask: Mask) -> str:
    if found["event"] in PRINTED:
        return ""
    rest = ARRAY.sub(_address, LOCATION.sub("", found["rest"], count=1))
    kept = fields.redacted(rest, mask)
    if kept is None:
        return UNREAD
    event = fields.event_name(found["event"])
    return f"task-0 [{found['cpu']}] ..... {found['time']}: {event}: {kept}"


def _address(found: re.Match[str]) -> str:
    """`saddr=10.0.0.1` for the bytes of a `sockaddr_in` or `sockaddr_in6`; nothing for others."""
    parts = [part.strip() for part in found[2].split(",")[:SOCKADDR]]
    if not all(re.fullmatch("[0-9a-f]{1,2}", part) for part in parts):
        return ""
    data = bytes(int(part, 16) for part in parts)
    first, size = {b"\2\0": (4, 4), b"\n\0": (8, 16)}.get(data[:2], (0, 0))
    address = data[first : first + size]
    return f"{found[1]}={ip_address(address)}" if size and len(address) == size else ""
