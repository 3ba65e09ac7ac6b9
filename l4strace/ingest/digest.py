"""Checksums of the inputs, so that a report identifies the bytes it is about."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from l4strace import resources
from l4strace.ingest import file_names

if TYPE_CHECKING:
    import polars as pl

LIMIT_BYTES = 256 << 20
"""Larger files stay unhashed: reading them twice would cost more than the diagnosis itself."""
CHUNK_BYTES = 1 << 20


def with_digests(sources: pl.DataFrame, known: Mapping[str, str | None]) -> pl.DataFrame:
    """``sources`` with `sha256` of every regular file of at most `LIMIT_BYTES`, else null.

    ``known`` has those of some paths.
    """
    import polars as pl

    digests = [known[path] if path in known else sha256(path) for path in sources["path"]]
    return sources.with_columns(pl.Series("sha256", digests, pl.String))


@contextmanager
def beside(paths: Sequence[str]) -> Iterator[Mapping[str, str | None]]:
    """The digests of ``paths`` once the block is done, which they are worked out beside.

    Without a thread to spare there are none, nor of a file that cannot be read. Where the block
    fails, only the file under way is still read.
    """
    found: dict[str, str | None] = {}
    if not paths or not resources.spare(file_names.opened(path) for path in paths):
        yield found
        return
    from threading import Event, Thread

    failed = Event()

    def work() -> None:
        with suppress(OSError):
            for path in paths:
                if failed.is_set():
                    return
                found[path] = sha256(path)

    thread = Thread(target=work)
    thread.start()
    try:
        yield found
    except BaseException:
        failed.set()
        raise
    finally:
        thread.join()


def sha256(path: str) -> str | None:
    """The file's digest in hex as `sha256sum` prints it; null for streams and large files."""
    file = Path(file_names.opened(path))
    if not file.is_file() or file.stat().st_size > LIMIT_BYTES:
        return None
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
