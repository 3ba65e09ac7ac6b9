"""What was recorded, in a few lines, and how to go on."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from l4strace import console
from l4strace.errors import INTERRUPTED, InputError
from l4strace.wording.quantities import count

ENDED = {
    "exit": "the command ended",
    "signal": "interrupted",
    "reader": "the terminal or controller disconnected",
    "error": "a part failed",
    "duration": "the duration is over",
    "count": "the number of packets is reached",
    "command": "the command could not be started",
}
PLACES = {
    # of the kernel log's `lost`
    "ring": ("ring buffer full", "raise --kernel-buffer, or filter by port"),
    "skipped": ("probes skipped by the kernel", "record fewer flows, or with --kernel tracefs"),
    "nested": ("probes nested too deep", "record fewer flows, or with --kernel tracefs"),
    "late_polls": ("polls came late", "poll less often: --interval"),
}
PACKET_REMEDY = "raise --buffer, filter by port, or install dumpcap"
THERE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def render(summary: dict[str, Any]) -> str:
    """The lines for one host's recording."""
    lines = [f"recorded {summary['seconds']:.1f} s: {_ended(summary)}", *_packets(summary)]
    lines += _kernel(summary)
    lines += [f"{name} failed: {reason}" for name, reason in summary["died"].items()]
    lines += [f"note: {note}" for note in summary["notes"]]
    lines += [f"  {_size(size):>9}  {path}" for path, size in summary["files"].items()]
    return "\n".join(lines)


def next_step(captures: Sequence[Path]) -> str:
    """The command that diagnoses these captures; logs beside them are found by themselves."""
    return "next: l4strace diagnose " + " ".join(console.shell_word(str(path)) for path in captures)


def inputs(summary: dict[str, Any]) -> list[Path]:
    """What `diagnose` is given: the capture, the kernel log where there is none."""
    files = [Path(name) for name in summary["files"]]
    captures = [path for path in files if path.suffix == ".pcapng"]
    return captures or [path for path in files if ".kernel." in path.name]


def exit_code(summary: dict[str, Any]) -> int:
    """The command's own exit code, as a shell has it; 1 when a part of the recording failed.

    130 when it was interrupted before anything was recorded.
    """
    if summary["ended"] == "signal" and not inputs(summary):
        return INTERRUPTED
    code = int(summary["command_exit"] or 0)
    if summary["ended"] == "command":
        return 1
    return (128 - code if code < 0 else code) or int(bool(summary["died"]))


def _ended(summary: dict[str, Any]) -> str:
    code = summary["command_exit"]
    ended = str(summary["ended"])
    return ENDED.get(ended, ended) + (f" (exit code {int(code)})" if code else "")


def _packets(summary: dict[str, Any]) -> list[str]:
    """What reached the disk, and what did not."""
    packets = summary["packets"]
    if not (written := _written(packets)):
        return ["packets: none"]
    dropped = [row.get("dropped") for row in packets.get("interfaces", {}).values()]
    known = [number for number in dropped if number is not None]
    lines = [f"packets: {written}, "]
    if not known or len(known) < len(dropped):
        return [lines[0] + "drops unknown"]
    lines[0] += f"{sum(known):,} dropped"
    if sum(known):
        lines.append(f"  dropped: {PACKET_REMEDY}")
    if packets.get("cut_bytes"):
        lines.append(f"  the last {packets['cut_bytes']} bytes were half a packet: removed")
    return lines


def _written(packets: dict[str, Any]) -> str:
    """Packets in the file; a large ring is not counted. Empty without any."""
    seen = packets.get("seen", 0)
    if "packets" not in packets:
        return f"the last {_size(packets['bytes'])} of {seen:,}" if seen else ""
    written = f"{packets['packets']:,} written"
    return f"{written}, the last of {seen:,}" if seen > packets["packets"] else written


def _kernel(summary: dict[str, Any]) -> list[str]:
    """Samples of kernel state, and where some were lost."""
    kernel = summary["kernel"]
    if kernel["source"] == "none":
        return ["kernel state: none"]
    events, lost = kernel.get("events", 0), kernel.get("lost", 0)
    lines = [f"kernel state: {count(events, 'sample')} by {kernel['source']}, {lost:,} lost"]
    for place, number in kernel.get("lost_at", {}).items():
        if number:
            where, remedy = PLACES.get(place, (place, ""))
            lines.append(f"  {number:,} {where}" + (f": {remedy}" if remedy else ""))
    if "kernel log" in summary["died"] and "packed" in kernel:
        lines.append(
            f"  {count(kernel['packed'].get('lines', 0), 'line')} of the log reached the disk"
        )
    return lines


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1_000_000 else f"{size / 1e3:.1f} kB"


def packed(summary: dict[str, Any]) -> dict[str, Any]:
    """The summary after compressing kernel logs that are not yet zstd.

    A host without the `zstd` program writes gzip or plain text. Trouble leaves the log as it was.
    """
    files: dict[str, int] = {}
    for name, size in summary["files"].items():
        path = Path(name)
        if path.name.endswith((".kernel.ndjson", ".kernel.ndjson.gz")):
            target = path.with_name(path.name.removesuffix(".gz") + ".zst")
            try:
                _repack(path, target)
            except FileExistsError:
                console.note(f"{path}: not packed ({target} exists)")
            except (OSError, InputError) as error:
                console.note(f"{path}: not packed ({error})")
            else:
                path.unlink()
                path, size = target, target.stat().st_size
        files[str(path)] = size
    return summary | {"files": files}


def _repack(path: Path, target: Path) -> None:
    """Creates the compressed file, readable by the owner of the log alone.

    Names are opened once and through no link: in a folder of somebody else they may lead elsewhere
    meanwhile.
    """
    from l4strace.core import _native

    with (
        os.fdopen(os.open(path, THERE), "rb") as log,
        os.fdopen(os.open(target, NEW, 0o600), "wb") as packed,
    ):
        try:
            if os.geteuid() == 0:
                owner = os.fstat(log.fileno())
                os.fchown(packed.fileno(), owner.st_uid, owner.st_gid)
            chunks = _native.read_text(f"/proc/self/fd/{log.fileno()}")
            packer = _native.Packer("zst")
            packed.writelines(packer.add(chunk) for chunk in chunks)
            packed.write(packer.finish())
            if chunks.error:
                raise InputError(f"{path}: {chunks.error}")
        except (OSError, InputError):
            # Made here: what somebody else keeps under the name is not ours to remove.
            target.unlink(missing_ok=True)
            raise
