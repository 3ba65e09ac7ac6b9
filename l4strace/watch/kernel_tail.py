"""The newest kernel state per socket, from a log that still grows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TAIL_BYTES = 1 << 18
"""Enough for about a thousand samples: only the newest of each socket is shown."""
Ends = tuple[str, int, str, int]
"""Own address and port, then the peer's."""


class KernelTail:
    """Reads the end of a plain kernel log again and again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._alpha_bits: int | None = None
        self.newest: dict[Ends, dict[str, Any]] = {}

    def update(self) -> None:
        """Reads what was added, at most the last 256 KiB; a log may not exist yet."""
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, 2)
                start = max(self._at, size - TAIL_BYTES)
                cut = start > self._at
                file.seek(start)
                data = file.read(size - start)
        except OSError:
            return
        whole = data.rfind(b"\n") + 1
        self._at = start + whole
        lines = data[:whole].splitlines()
        for line in lines[1:] if cut else lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            record = json.loads(line)
        except ValueError:
            return
        if not isinstance(record, dict):
            return
        if record.get("type") == "header":
            layout = record.get("layout")
            self._alpha_bits = layout.get("alpha_bits") if isinstance(layout, dict) else None
        if record.get("type") == "sample" and "saddr" in record:
            ends = (record["saddr"], record["sport"], record["daddr"], record["dport"])
            self.newest.setdefault(ends, {}).update(record)

    def alpha(self, ends: Ends) -> float | None:
        """Alpha, 0 to 1; null when the log does not hold it."""
        state = self.newest.get(ends, {})
        if "alpha" in state:
            return float(state["alpha"])
        if self._alpha_bits and "upscaled_alpha" in state:
            return float(state["upscaled_alpha"]) / (1 << (self._alpha_bits + 4))
        return None

    def classic_ecn(self, ends: Ends) -> float | None:
        """The fallback's score, 0 to 17."""
        raw = self.newest.get(ends, {}).get("classic_ecn_raw")
        return raw / (1 << self._alpha_bits) if raw is not None and self._alpha_bits else None
