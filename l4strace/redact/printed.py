"""Logs of one line a sample: known fields with mapped addresses, in the form of the reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from l4strace.ingest.logs import printed
from l4strace.redact import fields
from l4strace.redact.lines import UNREAD
from l4strace.redact.mask import Mask


def bpftrace(blocks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    """Blocks of whole lines -> the same with every line redacted, in the same order."""
    make = printed.bpftrace_fields()
    yield b"Attaching 1 probe...\n"
    yield from _lines(blocks, lambda line: fields.redacted(make(line), mask) or UNREAD)


def tcpprobe(blocks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    """A masked copy of /proc/net/tcpprobe."""

    def line(text: str) -> str:
        found = printed.PROBE_LINE.fullmatch(text)
        if found is None:
            return UNREAD
        values = [value or "0" for value in found.groups()]
        ends = [mask.endpoint(value) for value in values[2:4]]
        return f"{values[0]}.{values[1]} " + " ".join([*map(str, ends), *values[4:]])

    yield from _lines(blocks, line)


def siftr(blocks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    """A masked copy of siftr.log."""
    make = printed.siftr_fields()

    def line(text: str) -> str:
        if printed.SIFTR_BEGINS.match(text.encode()):
            make(text)
            found = printed.SIFTR_STATED.match(text)
            return found[0] if found else "enable_time_secs=0\tsiftrver=0.0"
        if not make(text):
            return UNREAD
        values = text.split(",")
        for at in (3, 5):
            values[at] = mask.host(values[at])
        # Behind the RTT no value is read; the second is a hash of the packet.
        return ",".join([values[0], "0x0", *values[2 : printed.SIFTR_VALUES]])

    yield from _lines(blocks, line)


def _lines(blocks: Iterable[bytes], made: Callable[[str], str]) -> Iterator[bytes]:
    for block in blocks:
        lines = (line for line in block.decode("utf-8", "replace").split("\n") if line.strip())
        yield "".join(f"{made(line)}\n" for line in lines).encode()
