"""Where tracefs is, and which collector owns each object that was made in it."""

import ctypes
import os

from process import began

MOUNT_POINTS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
CLONE_NEWNS = 0x00020000
MS_REC_PRIVATE = 0x4000 | (1 << 18)


def mount_privately(target):
    """Mount tracefs in a mount namespace of our own, which ends with this process."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC_PRIVATE, None):
        raise OSError(ctypes.get_errno(), "cannot make a mount namespace")
    if libc.mount(b"tracefs", target.encode(), b"tracefs", 0, None):
        raise OSError(ctypes.get_errno(), "cannot mount tracefs")


def folder():
    """Return where tracefs is mounted, mounting it for this process alone if it is nowhere.

    Raises OSError when it cannot be.
    """
    for path in MOUNT_POINTS:
        if os.path.isdir(os.path.join(path, "instances")):
            return path
    mount_privately(MOUNT_POINTS[0])
    return MOUNT_POINTS[0]


def is_stale(name, prefix):
    """Return whether `name` is `prefix` and the id of a process that is gone."""
    pid = name[len(prefix) :]
    return name.startswith(prefix) and pid.isdigit() and began(int(pid)) is None


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
