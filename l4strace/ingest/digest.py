"""Checksums of the inputs, so that a report identifies the bytes it is about."""

from __future__ import annotations

import hashlib
from pathlib import Path

import polars as pl

from l4strace.ingest import named

LIMIT_BYTES = 256 << 20
"""Larger files stay unhashed: reading them twice would cost more than the diagnosis itself."""
CHUNK_BYTES = 1 << 20


def with_digests(sources: pl.DataFrame) -> pl.DataFrame:
    """``sources`` with `sha256` of every regular file of at most `LIMIT_BYTES`, else null."""
    digests = [sha256(path) for path in sources["path"]]
    return sources.with_columns(pl.Series("sha256", digests, pl.String))


def sha256(path: str) -> str | None:
    """The file's digest in hex as `sha256sum` prints it; null for streams and large files."""
    file = Path(named.opened(path))
    if not file.is_file() or file.stat().st_size > LIMIT_BYTES:
        return None
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
