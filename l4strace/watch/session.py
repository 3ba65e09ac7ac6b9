"""Record, follow, show: until `q`, Ctrl-C or the duration ends it."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Console
from rich.live import Live

from l4strace import console
from l4strace.capture.request import Request
from l4strace.core import _native
from l4strace.ingest.selection import Selection
from l4strace.watch import view
from l4strace.watch.findings import Judge
from l4strace.watch.kernel_tail import KernelTail
from l4strace.watch.keys import pressed, single_keys
from l4strace.watch.lanes import Lanes
from l4strace.watch.order import KEYS, Order
from l4strace.watch.recorder import Recorder
from l4strace.wording.quantities import count

EVERY_S = 1.0
REST_PER_UPDATE = 4
"""The view rests four times as long as an update took, when that is more than a second."""
LINES_PER_LANE = 6
OTHER_LINES = 14


class Session:
    """One live view: a recorder, the lanes that follow its capture, and the judge."""

    def __init__(self, request: Request, selection: Selection) -> None:
        self._request = request
        self._recorder = Recorder(request)
        log = request.stem.with_name(request.stem.name + ".kernel.ndjson")
        self._lanes = Lanes(KernelTail(log), selection)
        self._judge = Judge(self._recorder.capture, selection)
        self._order = Order()
        self._follower: _native.Follower | None = None
        self._updated = time.monotonic()
        self._began = self._updated
        self.verdict = ""
        """Verdict on the whole run, when it is over; empty if it was too large to be judged."""

    def run(self, keep: bool) -> dict[str, Any]:
        """Shows until it ends; returns the recording's summary, empty if it died."""
        screen = Console(no_color=console.settings().no_color or None)
        self._judge.start()
        try:
            with single_keys(), Live(console=screen, auto_refresh=False, screen=True) as live:
                self._loop(live, keep)
        except KeyboardInterrupt:
            pass
        finally:
            self._judge.stop()
            summary = self._recorder.stop()
            self.verdict = self._judge.last() if summary else ""
        return summary

    def _loop(self, live: Live, keep: bool) -> None:
        duration = self._request.duration_s
        rest = EVERY_S
        while self._recorder.running:
            key = pressed(rest)
            if key in ("q", "Q"):
                return
            self._order.press(key, len(self._lanes))
            if duration is not None and time.monotonic() - self._began > duration:
                return
            began = time.monotonic()
            self._recorder.update()
            self._follow()
            most = max(1, (live.console.size.height - OTHER_LINES) // LINES_PER_LANE)
            lanes = self._order.choose(self._lanes.busy(), most)
            status, findings = self._recorder.status, self._judge.findings
            live.update(view.screen(lanes, status, findings, self._note(keep, len(lanes))))
            live.refresh()
            rest = max(EVERY_S, REST_PER_UPDATE * (time.monotonic() - began))

    def _follow(self) -> None:
        if self._follower is None:
            if not self._recorder.capture.exists():
                return
            self._follower = _native.Follower(str(self._recorder.capture))
        now = time.monotonic()
        self._lanes.update(self._follower.poll(), now - self._updated)
        self._updated = now

    def _note(self, keep: bool, shown: int) -> str:
        words = [KEYS + (f"; the run stays as {self._request.stem}" if keep else "")]
        words.append(f"sorted by {self._order.by}")
        if len(self._lanes) > shown:
            words.append(f"{count(len(self._lanes) - shown, 'more direction')} not shown")
        words += [note for note in self._recorder.notes if not note.startswith("packets by")]
        if self._judge.note:
            words.append(self._judge.note)
        return "; ".join(words)
