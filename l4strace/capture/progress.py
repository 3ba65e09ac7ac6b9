"""One line that shows how a recording goes: on a terminal rewritten, else every ten seconds."""

from __future__ import annotations

import sys
import time
from typing import Any

from l4strace import console
from l4strace.wording.quantities import count

PLAIN_EVERY_S = 10.0


def line(status: dict[str, Any], rate: float | None) -> str:
    """`12 s: 1,234 packets (100/s), 0 dropped; 2,345 kernel events, 0 lost`."""
    packets = status.get("packets", 0)
    text = f"{status.get('seconds', 0):.0f} s: {count(packets, 'packet')}"
    if rate is not None:
        text += f" ({rate:,.0f}/s)"
    if "dropped" in status:
        text += f", {status['dropped']:,} dropped"
    if "events" in status:
        text += f"; {count(status['events'], 'kernel event')}, {status.get('lost', 0):,} lost"
    return text


class Live:
    """Shows the status lines of a recording."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._shown = time.monotonic()
        self._last: dict[str, Any] = {}
        self._drawn = False

    def update(self, status: dict[str, Any], name: str = "") -> None:
        """Shows the newest status of one host."""
        rate = self._rate(status)
        self._last = status
        now = time.monotonic()
        if console.settings().quiet or (not self._terminal and now - self._shown < PLAIN_EVERY_S):
            return
        self._shown = now
        text = (f"{name}: " if name else "") + line(status, rate)
        if self._terminal:
            print(f"\r{text}\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = True
        else:
            print(text, file=sys.stderr, flush=True)

    def note(self, text: str) -> None:
        """Prints a note between two status lines."""
        self.clear()
        console.note(text)

    def clear(self) -> None:
        """Takes the line away."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._drawn = False

    def _rate(self, status: dict[str, Any]) -> float | None:
        step: float = status.get("seconds", 0) - self._last.get("seconds", 0)
        if not self._last or step <= 0:
            return None
        packets: float = status.get("packets", 0) - self._last.get("packets", 0)
        return max(0.0, packets / step)
