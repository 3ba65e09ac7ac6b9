"""What a collector tells on stderr, as the recording takes it in."""

from __future__ import annotations

import subprocess
import sys

from run.parts import Part
from tests.support.processes import PATIENCE_SECONDS

SCRIPT = """
import sys
for line in (
    '{"note": "no probe on prague_state: busy"}',
    'a warning of the compiler',
    '{"started": "x"}',
    '{"status": {"events": 5, "lost": 2, "lost_at": {"ring": 2}}}',
    '{"note": "struct prague matches no known layout"}',
    '[1]',
):
    print(line, file=sys.stderr, flush=True)
"""


def test_notes_are_kept_one_by_one_and_counts_as_they_are() -> None:
    part = Part("bcc", [sys.executable, "-I", "-c", SCRIPT])
    part.wait(PATIENCE_SECONDS)
    assert part.notes == [
        "no probe on prague_state: busy",
        "struct prague matches no known layout",
    ]
    assert part.status == {"events": 5, "lost": 2, "lost_at": {"ring": 2}}
    assert part.told == {"started": "x"}
    assert part.noise == ["a warning of the compiler", "[1]"]


def test_its_reason_is_what_it_said_last() -> None:
    part = Part("x", [sys.executable, "-I", "-c", "import sys; sys.exit('no room')"])
    assert part.wait(PATIENCE_SECONDS) == 1
    assert part.why() == "no room"
    killed = Part("x", [sys.executable, "-I", "-c", "import time; time.sleep(60)"])
    killed.process.kill()
    killed.wait(PATIENCE_SECONDS)
    assert killed.why() == "killed by signal 9"


def test_a_part_that_hangs_is_killed() -> None:
    script = "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"
    part = Part("x", [sys.executable, "-I", "-c", script], stdin=subprocess.DEVNULL)
    part.ask_to_stop()
    assert part.wait(1.0) in (-9, -15)


def test_a_part_that_is_not_ready_in_time_says_so() -> None:
    """And not that it was killed, which is what was then done to it."""
    part = Part("packets", [sys.executable, "-I", "-c", "import time; time.sleep(60)"])
    assert not part.wait_started(0.1, None)
    part.ask_to_stop()
    part.wait(PATIENCE_SECONDS)
    assert part.why() == "not ready after 0.1 s"
