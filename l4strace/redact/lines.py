"""Lines of copies: of text, of JSON, and those that stand for what no reader takes for a record."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator

import polars as pl

from l4strace.ingest import untrusted

UNREAD = "-"
"""Stands for a line of text that holds nothing known: as unreadable."""
TOO_DEEP_JSON = b"[" * (untrusted.MOST_DEPTH + 1) + b"]" * (untrusted.MOST_DEPTH + 1)


def of_text(blocks: Iterable[bytes], made: Callable[[str], str]) -> Iterator[bytes]:
    """Blocks of whole lines -> the same with every line as it is ``made``, in the same order."""
    for block in blocks:
        yield "\n".join(map(made, block.decode("utf-8", "replace").split("\n"))).encode()


def of_json(value: object) -> bytes:
    """``value`` without spaces, and without the end of the line."""
    return json.dumps(value, separators=(",", ":")).encode()


def refused(line: bytes, kinds: Container[str], unread: bytes) -> bytes:
    """``unread``; or a line that is nested too deeply, which a reader takes among sound lines."""
    try:
        (kind,) = pl.read_ndjson(line, schema={"type": pl.String})["type"]
    except (pl.exceptions.PolarsError, ValueError):
        return unread
    return b'{"type":"%s","data":%s}' % (
        (kind if kind in kinds else "other").encode(),
        TOO_DEEP_JSON,
    )
