"""What the collector `doctor` found out about this host, as lines."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass

from l4strace import installed
from l4strace.console import one_line
from l4strace.errors import CollectorError
from l4strace.wording.wrap import WIDTH, wrapped

TIMEOUT_S = 120
MARKS = {"ok": ("+", "32"), "limited": ("~", "33"), "no": ("-", "31")}
TOPIC_WIDTH = 11


@dataclass(frozen=True)
class Examination:
    """What was found: one dict per topic with `topic`, `state`, `says`, `remedy`; and in short."""

    lines: list[dict[str, str]]
    sentence: str

    @property
    def fails(self) -> bool:
        """Something is known to be missing, not just unknown."""
        return any(row["state"] == "no" for row in self.lines)


def run(interfaces: tuple[str, ...], server: tuple[str, int] | None = None) -> Examination:
    """Runs the collector: on this host, or on the path to a server (name and port).

    Raises CollectorError when it does not run.
    """
    command = [sys.executable, "-I", str(installed.path("collectors")), "doctor"]
    command += [f"--interface={name}" for name in interfaces]
    if server is not None:
        command += [f"--host={server[0]}", f"--port={server[1]}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    try:
        found = json.loads(done.stdout)
        return Examination(found["doctor"], found["sentence"])
    except (ValueError, KeyError) as error:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise CollectorError(f"doctor failed: {last}") from error


def render(found: Examination, color: bool, width: int = WIDTH) -> str:
    """One line per topic, its remedy below it, the sentence at the end; all wrapped to `width`."""
    lines = []
    column = " " * (11 + TOPIC_WIDTH)
    for row in found.lines:
        mark, code = MARKS[row["state"]]
        word = f"{mark} {row['state']:<7}"
        if color:
            word = f"\x1b[{code}m{word}\x1b[0m"
        says = wrapped(row["says"], width, column).removeprefix(column)
        lines.append(f"{word} {one_line(row['topic']):<{TOPIC_WIDTH}} {says}")
        if row["remedy"]:
            lines.append(wrapped(row["remedy"], width, column + "   ", column[:-1] + "-> "))
    return "\n".join([*lines, "", wrapped(found.sentence, width)])
