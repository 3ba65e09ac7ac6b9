"""Text logs of one JSON object a line, cut into blocks of whole lines."""

from __future__ import annotations

from collections.abc import Iterator

from l4strace import _native
from l4strace.ingest.logs.samples import Log
from l4strace.schema.words import Stat

BLOCK_BYTES = 1 << 24


def blocks(path: str, log: Log) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time; what follows the last line end comes last.

    Fills in the log's compression and size, and that it was cut where decompression says so.
    """
    chunks = _native.read_text(path)
    held = bytearray()
    for chunk in chunks:
        held += chunk
        if len(held) >= BLOCK_BYTES and (end := held.rfind(b"\n")) >= 0:
            yield bytes(held[: end + 1])
            del held[: end + 1]
    if held:
        yield bytes(held)
    log.compression, log.bytes_read = chunks.compression, chunks.bytes_read
    if chunks.error:
        log.complete = False
        log.lose(Stat.TRUNCATED_FILE, 1, "loss", chunks.error)
