"""What the collector `doctor` found out about this host, as lines."""

from __future__ import annotations

import json
import subprocess
import sys

from l4strace import share
from l4strace.errors import CollectorError

TIMEOUT_S = 120
MARKS = {"ok": ("+", "32"), "limited": ("~", "33"), "no": ("-", "31")}
TOPIC_WIDTH = 11


def run(interfaces: tuple[str, ...]) -> list[dict[str, str]]:
    """One dict per topic: `topic`, `state` (`ok`, `limited`, `no`), `says`, `remedy`.

    Raises CollectorError when the collector does not run.
    """
    command = [sys.executable, "-I", str(share.path("collectors")), "doctor"]
    for name in interfaces:
        command += [f"--interface={name}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    try:
        found: list[dict[str, str]] = json.loads(done.stdout)["doctor"]
    except (ValueError, KeyError) as error:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise CollectorError(f"doctor did not run: {last}") from error
    return found


def render(found: list[dict[str, str]], color: bool) -> str:
    """One line per topic; its remedy on a line of its own below."""
    lines = []
    for row in found:
        mark, code = MARKS[row["state"]]
        word = f"{mark} {row['state']:<7}"
        if color:
            word = f"\x1b[{code}m{word}\x1b[0m"
        lines.append(f"{word} {row['topic']:<{TOPIC_WIDTH}} {row['says']}")
        if row["remedy"]:
            lines.append(f"{'':<{10 + TOPIC_WIDTH}} -> {row['remedy']}")
    return "\n".join(lines)
