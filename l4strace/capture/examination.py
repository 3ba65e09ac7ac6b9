"""What the collector `doctor` found out about this host, as lines."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from dataclasses import dataclass

from l4strace import console, share
from l4strace.errors import CollectorError

TIMEOUT_S = 120
MARKS = {"ok": ("+", "32"), "limited": ("~", "33"), "no": ("-", "31")}
TOPIC_WIDTH = 11
WIDTH = 80


@dataclass(frozen=True)
class Examination:
    """What was found: one dict per topic with `topic`, `state`, `says`, `remedy`; and in short."""

    lines: list[dict[str, str]]
    sentence: str


def run(interfaces: tuple[str, ...]) -> Examination:
    """Runs the collector. Raises CollectorError when it does not run."""
    command = [sys.executable, "-I", str(share.path("collectors")), "doctor"]
    for name in interfaces:
        command += [f"--interface={name}"]
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
    for row in found.lines:
        mark, code = MARKS[row["state"]]
        word = f"{mark} {row['state']:<7}"
        head = f"{word} {row['topic']:<{TOPIC_WIDTH}} "
        wrapped = _wrapped(row["says"], head, width)
        if color:
            wrapped[0] = wrapped[0].replace(word, f"\x1b[{code}m{word}\x1b[0m", 1)
        lines += wrapped
        if row["remedy"]:
            lines += _wrapped(row["remedy"], " " * (len(word) + TOPIC_WIDTH + 2) + "-> ", width)
    return "\n".join([*lines, "", *textwrap.wrap(console.printable(found.sentence), width)])


def _wrapped(text: str, head: str, width: int) -> list[str]:
    text = console.printable(text)
    return textwrap.wrap(
        text, width, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False
    ) or [head]
