"""What the collector `doctor` found out about this host, as lines."""

from __future__ import annotations

import json
import subprocess
import sys

from l4strace import installed
from l4strace.console import one_line
from l4strace.errors import CollectorError
from l4strace.wording.wrap import WIDTH, wrapped

TIMEOUT_S = 120
MARKS = {"ok": ("+", "32"), "limited": ("~", "33"), "no": ("-", "31")}
TOPIC_WIDTH = 11


def run(interfaces: tuple[str, ...]) -> list[dict[str, str]]:
    """One dict per topic: `topic`, `state` (`ok`, `limited`, `no`), `says`, `remedy`.

    Raises CollectorError when the collector does not run.
    """
    command = [sys.executable, str(installed.path("collectors")), "doctor"]
    for name in interfaces:
        command += ["-i", name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    try:
        found: list[dict[str, str]] = json.loads(done.stdout)["doctor"]
    except (ValueError, KeyError) as error:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise CollectorError(f"doctor did not run: {last}") from error
    return found


def render(found: list[dict[str, str]], color: bool, width: int = WIDTH) -> str:
    """One line per topic; its remedy on a line of its own below."""
    lines = []
    for row in found:
        mark, code = MARKS[row["state"]]
        word = f"{mark} {row['state']:<7}"
        if color:
            word = f"\x1b[{code}m{word}\x1b[0m"
        column = " " * (11 + TOPIC_WIDTH)
        says = wrapped(row["says"], width, column).removeprefix(column)
        lines.append(f"{word} {one_line(row['topic']):<{TOPIC_WIDTH}} {says}")
        if row["remedy"]:
            lines.append(wrapped(row["remedy"], width, column + "   ", column[:-1] + "-> "))
    return "\n".join(lines)
