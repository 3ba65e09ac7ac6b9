"""One `*.host.json`, which `l4strace capture` writes, as clean values."""

from __future__ import annotations

from typing import Any

from l4strace.errors import InputError, reason
from l4strace.ingest import untrusted

MOST_BYTES = 16 << 20
"""Decompressed; 10,000 sockets take 3 MB."""


def read(path: str) -> dict[str, Any]:
    """The host file with its ``path``; names in it are on one line.

    Raises InputError for what is not a host file.
    """
    try:
        value = untrusted.document(path, MOST_BYTES)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not a host file ({reason(error)})") from error
    plain: dict[str, Any] = _plain(value)
    return plain | {"path": path}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {untrusted.text(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return untrusted.text(value, most=4096) if isinstance(value, str) else value
