"""How many threads work on a run: those that track packets, and those of polars.

Nothing that l4strace finds depends on it.
"""

from __future__ import annotations

import os

_most: int | None = None


def limit(most: int | None) -> None:
    """At most ``most`` threads from now on; None: one for each processor.

    Polars asks once, when it is first imported: call this before.
    """
    global _most
    _most = most
    if most is not None:
        os.environ["POLARS_MAX_THREADS"] = str(most)


def most() -> int | None:
    """As many as `limit` or the environment of polars states; None: one for each processor."""
    stated = os.environ.get("POLARS_MAX_THREADS", "")
    return _most or (int(stated) or None if stated.isdecimal() else None)
