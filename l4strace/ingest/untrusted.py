"""The edge where foreign text becomes values: every bound and every type check of the importers.

Logs and host files come from hosts that nobody vouches for. What does not fit is refused here or
becomes null, so that nothing behind this module meets a wrong type, a huge number or a control
character.
"""

from __future__ import annotations

import json
import math
from typing import Any

from l4strace.core import _native
from l4strace.ingest import file_names

FARTHEST_NS = 1 << 61
"""73 years: sums and differences of two times stay within 64 bits."""
MOST_LINE = 8 << 20
"""Bytes of one line: a map that bpftrace prints has some 100 kB."""
MOST_VALUES = 2_000_000
"""Values of one JSON document: about 200 MB as Python objects."""
MOST_DEPTH = 64
"""Nesting of JSON; l4strace's own files have six levels."""
MOST_TEXT = 200
"""Characters of a name: an address with its zone has 60."""
CONTROL = r"[\p{C}\p{Zl}\p{Zp}]"
"""Characters that move a cursor, end a line or turn the writing direction (for polars)."""


def lines(path: str, block: int) -> _native.Lines:
    """Whole lines of a text file, some ``block`` bytes at a time.

    A line that has not ended after `MOST_LINE` bytes is left out, once a block is full.
    """
    return _native.Lines(file_names.opened(path), block, MOST_LINE)


def document(path: str, most_bytes: int) -> dict[str, Any]:
    """One JSON object that fills a file, with clean values.

    Raises ValueError for more than ``most_bytes`` (decompressed), `MOST_VALUES` or damage.
    """
    held = bytearray()
    for chunk in _native.read_text(file_names.opened(path)):
        held += chunk
        if len(held) > most_bytes:
            raise ValueError(f"more than {most_bytes >> 20} MB")
    # Each value but the first follows a comma or a bracket.
    if held.count(b",") + held.count(b"[") + held.count(b"{") > MOST_VALUES:
        raise ValueError(f"more than {MOST_VALUES:,} values")
    value = parsed(bytes(held))
    if not isinstance(value, dict):
        raise ValueError("no JSON object")
    return value


def parsed(text: bytes | str, strict: bool = False, depth: int = MOST_DEPTH) -> Any:
    """JSON as clean values; numbers that 64 bits do not hold become null, unless ``strict``.

    Raises ValueError for whatever is wrong with it, also for more than ``depth`` levels.
    """
    try:
        return _clean(json.loads(text), depth, strict)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def record(line: bytes, strict: bool = False) -> dict[str, Any] | None:
    """The JSON object of a line, parsed as by `parsed`; null when the line is not one."""
    try:
        value = parsed(line, strict)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _clean(value: Any, depth: int, strict: bool) -> Any:
    """Numbers of 64 bits, texts that UTF-8 can hold, at most ``depth`` levels."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (int, float)):
        if math.isfinite(value) if isinstance(value, float) else -(2**63) <= value < 2**64:
            return value
        if strict:
            raise ValueError("a number beyond 64 bits")
        return None
    if depth == 0:
        raise ValueError("nested too deeply")
    if isinstance(value, dict):
        # Most are numbers and short texts: to ask about each takes as long as all else.
        return {
            key if key.isascii() else _clean(key, 0, strict): item
            if (type(item) is int and -(2**63) <= item < 2**64)
            or (type(item) is str and item.isascii())
            else _clean(item, depth - 1, strict)
            for key, item in value.items()
        }
    return [_clean(item, depth - 1, strict) for item in value]


def mapping(value: object) -> dict[str, Any]:
    """``value`` when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def whole(value: object, least: int = -(2**63), most: int = 2**63 - 1) -> int | None:
    """``value`` when it is an integer within the bounds, else null."""
    fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    return value if fits else None  # type: ignore[return-value]


def number(value: object) -> float | None:
    """``value`` as float when it is a finite number, else null."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def time_ns(value: object) -> int | None:
    """``value`` when it is a time or an offset that 64 bits can be reckoned with, else null."""
    return whole(value, -FARTHEST_NS, FARTHEST_NS)


def text(value: object, most: int = MOST_TEXT) -> str | None:
    """``value`` when it is text: on one line, without control characters, of bounded length."""
    if not isinstance(value, str):
        return None
    return "".join(c if c.isprintable() else "?" for c in value[:most])
