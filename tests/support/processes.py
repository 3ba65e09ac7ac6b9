"""What runs below a process, and what tracing it leaves on the host."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

TRACING = "/sys/kernel/tracing"
PATIENCE_SECONDS = 120.0
"""Longer than the busiest machine takes for anything that a test waits for."""
Found = TypeVar("Found")


def wait_until(found: Callable[[], Found], what: str) -> Found:
    """The first true answer of ``found``; fails if there is none."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (answer := found()):
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.05)
    return answer


def find(pid: int, word: str, but: str = "\0") -> int:
    """The process below ``pid`` with ``word`` in its command line, once it is there."""

    def those() -> list[int]:
        return [own for own, line in descendants(pid).items() if word in line and but not in line]

    return wait_until(those, f"{word} below {pid}")[0]


def cmdline(pid: int) -> str:
    """The command line of a process; nothing where there is none."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ""
    return words.replace(b"\0", b" ").decode(errors="replace").strip()


def started(pid: int) -> int | None:
    """When a process began (ticks since boot); None when it has ended."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return None
    return None if state == "Z" else int(fields[18])


def running(pid: int) -> dict[int, int | None]:
    """A process and those below it, with when they began, as `none_left` takes them."""
    return {own: started(own) for own in (pid, *descendants(pid))}


def none_left(ran: dict[int, int | None], place: Path) -> None:
    """Until these have ended, and every other process that works in the folder."""

    def left() -> list[str]:
        kept = [pid for pid, began in ran.items() if began is not None and started(pid) == began]
        # A part that was just begun had the command line of its parent, or was not there yet.
        pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
        inside = [pid for pid in pids if str(place) in cmdline(pid)]
        return [f"{pid} {cmdline(pid)}" for pid in {*kept, *inside}]

    wait_until(lambda: not left(), f"nothing of {sorted(ran)} or in {place} runs")


def descendants(pid: int) -> dict[int, str]:
    """Process ids below ``pid`` with their command lines."""
    found: dict[int, str] = {}
    listed = subprocess.run(
        ["ps", "-ww", "-eo", "pid,ppid,args", "--no-headers"],
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    below = {pid}
    for _ in range(6):
        for own, parent, words in rows:
            if int(parent) in below and int(own) not in below:
                below.add(int(own))
                found[int(own)] = words
    return found


def trace_instances() -> set[str]:
    """Trace instances of l4strace that no process has any more."""
    script = f"[ -d {TRACING}/instances ] || mount -t tracefs t {TRACING}; ls {TRACING}/instances"
    done = subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True)
    ours = {name for name in done.stdout.split() if name.startswith("l4strace-")}
    # Other captures may run on this machine: left is what belongs to nobody.
    return {name for name in ours if not Path("/proc", name.rpartition("-")[2]).exists()}
