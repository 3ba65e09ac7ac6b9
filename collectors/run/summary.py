"""What the host file keeps of a recording: how it went, what it lost, and the command that ran."""

import shlex
import time


def summarize(recording, ended, command_exit, packed):
    """Return the facts of a Recording that is over; packed is what became of its kernel log."""
    packets = dict(recording.packets.told.get("packets", {})) if recording.packets else {}
    kernel = dict(recording.kernel.status) if recording.kernel else {}
    kernel["source"] = recording.source
    if packed:
        kernel["packed"] = packed
    return {
        "ended": ended,
        "seconds": round(time.monotonic() - recording.began, 3),
        "interfaces": recording.arguments.interface,
        "filter": recording.filter,
        "snaplen": recording.arguments.snaplen,
        "packets": packets,
        "kernel": kernel,
        "told": recording.told,
        "notes": recording.notes,
        "died": recording.died,
        "command": " ".join(map(shlex.quote, recording.arguments.command)) or None,
        "command_exit": command_exit,
    }
