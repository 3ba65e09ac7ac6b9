"""Findings while the run still grows: the same pipeline as `diagnose`, over what is there so far.

It runs beside the view and rests ten times as long as it took, so a long run is judged less often.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

from l4strace.errors import L4straceError
from l4strace.ingest.selection import Selection
from l4strace.model import Severity

FIRST_AFTER_S = 4.0
REST = 10
LEAST_REST_S = 4.0
MOST_BYTES = 400_000_000
"""A larger run is left to `diagnose`, when it is over."""
NOT_YET = frozenset({"L4S001", "L4S008"})
"""Rules that fire on every run that is not over, because its capture and log have no end yet."""


class Judge:
    """Judges the growing run repeatedly in a thread of its own."""

    def __init__(self, capture: Path, selection: Selection) -> None:
        self._capture = capture
        self._selection = selection
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self.findings: list[tuple[Severity, str, str]] = []
        self.note = ""

    def start(self) -> None:
        """Starts judging, after four seconds."""
        self._thread.start()

    def stop(self) -> None:
        """Stops after the judgment under way, and waits for it."""
        self._over.set()
        self._thread.join()

    def last(self) -> str:
        """Headline of the verdict, empty where the run is too large or cannot be read."""
        try:
            if self._capture.stat().st_size > MOST_BYTES:
                return ""
            return self._judge()
        except (OSError, L4straceError):
            return ""

    def _work(self) -> None:
        rest = FIRST_AFTER_S
        while not self._over.wait(rest):
            began = time.monotonic()
            try:
                if self._capture.stat().st_size > MOST_BYTES:
                    self.note = "too large for live findings: l4strace diagnose has them"
                    return
                self._judge()
                self.note = ""
            except FileNotFoundError:
                self.note = "not judged yet: no packets so far"
            except (OSError, L4straceError) as error:
                self.note = f"not judged yet: {error}"
            rest = max(LEAST_REST_S, REST * (time.monotonic() - began))

    def _judge(self) -> str:
        from l4strace import pipeline
        from l4strace.wording.verdict import counted, verdict

        # Files of one stem are one run.
        (run,) = pipeline.diagnose(
            [str(self._capture)], pipeline.Asked(self._selection, digests=False)
        )
        self.findings = [
            (f.severity, f.rule, f.message) for f in run.analysis.findings if f.rule not in NOT_YET
        ]
        return verdict(run.analysis, counted(run.evidence)).headline
