"""Lines of JSON that are no record, as copies hold them."""

from __future__ import annotations

from collections.abc import Container

import polars as pl

from l4strace.ingest import untrusted

TOO_DEEP_JSON = b"[" * (untrusted.MOST_DEPTH + 1) + b"]" * (untrusted.MOST_DEPTH + 1)


def copy(line: bytes, kinds: Container[str], unread: bytes) -> bytes:
    """``unread``; or a line that is nested too deeply, which a reader takes among sound lines."""
    try:
        (kind,) = pl.read_ndjson(line, schema={"type": pl.String})["type"]
    except (pl.exceptions.PolarsError, ValueError):
        return unread
    return b'{"type":"%s","data":%s}' % (
        (kind if kind in kinds else "other").encode(),
        TOO_DEEP_JSON,
    )
