"""What was recorded, in a few lines, and how to go on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from l4strace import console
from l4strace.errors import InputError


def render(summary: dict[str, Any]) -> str:
    """The lines for one host's recording."""
    packets = summary["packets"]
    interfaces = packets.get("interfaces", {})
    dropped = [row["dropped"] for row in interfaces.values()]
    lines = [f"{summary['seconds']:.1f} s recorded, ended by {_ending(summary)}"]
    lines.append(f"packets: {packets.get('packets', 0):,}, {_drops(dropped)}")
    kernel = summary["kernel"]
    if kernel["source"] == "none":
        lines.append("kernel state: none")
    else:
        lost = kernel.get("lost", 0)
        events = kernel.get("events", 0)
        lines.append(f"kernel state: {events:,} events by {kernel['source']}, {lost:,} lost")
    lines += [f"{name} died: {reason}" for name, reason in summary["died"].items()]
    if packets.get("cut_bytes"):
        lines.append(f"the capture's last {packets['cut_bytes']} bytes were half a packet: removed")
    lines += [f"  {_size(size):>9}  {path}" for path, size in summary["files"].items()]
    return "\n".join(lines)


def next_step(captures: Sequence[Path]) -> str:
    """The command that diagnoses these captures; logs beside them are found by themselves."""
    return "next: l4strace diagnose " + " ".join(console.shell_word(str(path)) for path in captures)


def _ending(summary: dict[str, Any]) -> str:
    words = {
        "exit": "the command's end",
        "signal": "a signal",
        "reader": "loss of whoever started it",
        "error": "trouble",
        "duration": "its duration",
        "command": "a command that cannot run",
    }
    ended: str = summary["ended"]
    code = summary.get("command_exit")
    return words.get(ended, ended) + (f" (exit code {code})" if code else "")


def _drops(dropped: list[int | None]) -> str:
    known = [number for number in dropped if number is not None]
    if not known or len(known) < len(dropped):
        return "drops unknown"
    return f"{sum(known):,} dropped"


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1_000_000 else f"{size / 1e3:.1f} kB"


def packed(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary after kernel logs that are not zstd yet were made so.

    A host without the `zstd` program writes gzip or plain text. Trouble leaves the log as it was.
    """
    files: dict[str, int] = {}
    for name, size in summary["files"].items():
        path = Path(name)
        if path.name.endswith((".kernel.ndjson", ".kernel.ndjson.gz")):
            target = path.with_name(path.name.removesuffix(".gz") + ".zst")
            try:
                _repack(path, target)
            except (OSError, InputError) as error:
                target.unlink(missing_ok=True)
                console.note(f"{path}: stays as it is ({error})")
            else:
                path.unlink()
                path, size = target, target.stat().st_size
        files[str(path)] = size
    return summary | {"files": files}


def _repack(path: Path, target: Path) -> None:
    from l4strace import _native

    if path.suffix != ".gz":
        _native.compress_zst(str(path), str(target))
        return
    plain = path.with_name(path.name + ".part")
    try:
        with plain.open("wb") as file:
            for chunk in _native.read_text(str(path)):
                file.write(chunk)
        _native.compress_zst(str(plain), str(target))
    finally:
        plain.unlink(missing_ok=True)
