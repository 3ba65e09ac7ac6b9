"""Kprobes defined in tracefs, because the kernel counts there what it skipped.

A kprobe that is hit while another one runs on the same CPU is not run: only `kprobe_profile` shows
that. A definition whose process was killed is inert; the next start removes it.
"""

import os
import re

from kernel import tracing

PREFIX = "l4strace_"
MAX_ACTIVE = 128
"""Calls of one function that may be under way when their return is probed."""
GROUP = re.compile(r"^[pr]\d*:([^/\s]+)/(\S+)", re.M)
MISSES = re.compile(r"^recursion_misses:\s*(\d+)", re.M)


class Kprobes:
    """The probes of this process; `attach_program(fd, group, name)` binds a BPF program to one."""

    def __init__(self, folder, attach_program):
        self.folder = folder
        self.attach_program = attach_program
        self.group = PREFIX + str(os.getpid())
        self.names = {}
        sweep(folder)

    def add(self, function, symbol, program, at_return=False):
        """Define a probe and bind a program (its file descriptor) to it. Raises OSError."""
        name = "%s_%d%s" % (function, os.getpid(), "_return" if at_return else "")
        kind = "r%d" % MAX_ACTIVE if at_return else "p"
        append(self.folder, "%s:%s/%s %s" % (kind, self.group, name, symbol))
        bound = self.attach_program(program, self.group.encode(), name.encode())
        if bound < 0:
            append(self.folder, "-:%s/%s" % (self.group, name))
            raise OSError("the kernel refuses the program")
        self.names[name] = bound

    def skipped(self):
        """Return how many calls of the probed functions the kernel did not show us, in all."""
        with open(os.path.join(self.folder, "kprobe_profile")) as file:
            rows = [row.split() for row in file]
        return sum(int(row[2]) for row in rows if len(row) == 3 and row[0] in self.names)

    def close(self):
        for name, bound in self.names.items():
            try:
                os.close(bound)
                append(self.folder, "-:%s/%s" % (self.group, name))
            except OSError:
                pass
        self.names = {}


def append(folder, text):
    """Add one line: mode "w" would undefine everybody's probes, and "a" seeks, which it refuses."""
    events = os.open(os.path.join(folder, "kprobe_events"), os.O_WRONLY | os.O_APPEND)
    try:
        os.write(events, text.encode() + b"\n")
    finally:
        os.close(events)


def sweep(folder):
    """Remove what collectors killed with -9 had defined; a kernel without kprobes has nothing."""
    try:
        with open(os.path.join(folder, "kprobe_events")) as file:
            defined = GROUP.findall(file.read())
    except FileNotFoundError:
        return
    for group, name in defined:
        if tracing.is_stale(group, PREFIX):
            append(folder, "-:%s/%s" % (group, name))


def program_skipped(descriptor):
    """Return how often a BPF program was not run because one ran already; 0 before Linux 5.12."""
    try:
        with open("/proc/self/fdinfo/%d" % descriptor) as file:
            found = MISSES.search(file.read())
    except OSError:
        return 0
    return int(found.group(1)) if found else 0
