"""Kernel state from tracepoints through a trace instance of our own: no BPF, no compiler.

Reads tcp:tcp_probe (mainline's and L4STeam's longer form), tcp:tcp_cong_state_set and
tcp:tcp_retransmit_skb as raw ring-buffer pages. Whatever ends it, the instance is removed.

Overhead: CPU time of this process for each packet that TCP receives is 3.9 +- 0.6 us with 1 flow,
4.1 +- 0.3 us with 4 and 2.8 +- 0.2 us with 64 (fixtures/lab/overhead.py: ten runs each of 2 s at
100 Mbit/s on 2 busy cores). None was lost at 35,000 packets a second.

    python3 collectors tracefs --port 5201 > run.kernel.ndjson
"""

import argparse
import errno
import os
import sys

from kernel import trace_buffer, trace_events, tracing
from kernel.namespace import Namespace
from log import Log, finish
from process import Stop, cannot, tell

COLLECTOR = "tracefs/tcp_probe"
TOTAL_BUFFER_KB = 65536
POLL_SECONDS = 0.05
STATUS_EVERY = 20
"""Polls between two status lines: one a second."""


class Instance:
    """A trace instance named after this process; instances of dead processes are swept first."""

    PREFIX = "l4strace-"

    def __init__(self, folder):
        self.parent = os.path.join(folder, "instances")
        self.path = os.path.join(self.parent, "%s%d" % (self.PREFIX, os.getpid()))
        sweep(folder)
        os.mkdir(self.path)

    def cpus(self):
        names = os.listdir(os.path.join(self.path, "per_cpu"))
        return sorted(int(name[3:]) for name in names)

    def set(self, name, text):
        tracing.write(os.path.join(self.path, name), text)

    def remove(self):
        for name, text in (("tracing_on", "0"), ("events/enable", "0")):
            try:
                self.set(name, text)
            except OSError:
                pass
        try:
            os.rmdir(self.path)
        except OSError as error:
            if error.errno != errno.ENOENT:
                raise


def sweep(folder):
    """Remove the instances that collectors killed with -9 left behind."""
    parent = os.path.join(folder, "instances")
    for name in os.listdir(parent):
        if tracing.is_stale(name, Instance.PREFIX):
            stale = Instance.__new__(Instance)
            stale.path = os.path.join(parent, name)
            stale.remove()


def port_filter(ports):
    """Return the trace filter that the kernel applies, `0` for none."""
    if not ports:
        return "0"
    return "||".join("sport==%d||dport==%d" % (port, port) for port in ports)


def buffer_kb(cpus):
    """Per-CPU buffer: 8 MB holds some 50,000 events, bounded in total on large machines."""
    return max(1024, min(8192, TOTAL_BUFFER_KB // max(1, cpus)))


def set_up(instance, events, ports, megabytes):
    """Size the buffers, choose the clock, filter and enable; tracing starts at the end."""
    instance.set("tracing_on", "0")
    instance.set("trace_clock", "mono")
    kilobytes = megabytes * 1024 if megabytes else buffer_kb(len(instance.cpus()))
    instance.set("buffer_size_kb", str(kilobytes))
    for event in events:
        folder = "events/tcp/%s/" % event.name
        instance.set(folder + "filter", port_filter(ports))
        instance.set(folder + "enable", "1")
    instance.set("tracing_on", "1")


def pump(log, stop, buffers, by_id):
    """Copy events to the log until stopped, then what is still in the buffers."""
    polls = 0
    while True:
        stopping = bool(stop)
        lines, full = [], False
        for buffer in buffers:
            full = buffer.read(by_id, lines) or full
        if lines:
            lines.sort()
            log.write(lines)
        if stopping and not full:
            return
        polls += 1
        if polls % STATUS_EVERY == 0:
            for buffer in buffers:
                log.losing("ring", buffer.newly_lost())
            log.status()
        if not full:
            stop.sleep(POLL_SECONDS)


def owner(everywhere):
    """Return the test whether a socket is of this namespace, or None and why all are recorded."""
    if everywhere:
        return None, None
    try:
        return Namespace().has, None
    except OSError as error:
        text = "sockets of all network namespaces are recorded: no inet_diag here (%s)"
        return None, text % error.strerror


def collect(arguments, stream):
    stop = Stop(arguments.duration, arguments.with_parent)
    try:
        folder = tracing.folder()
    except OSError as error:
        remedy = "mount -t tracefs tracefs /sys/kernel/tracing"
        reason = "%s: %s" % (error.strerror, os.strerror(error.errno))
        cannot(reason, remedy if os.geteuid() == 0 else "run with sudo")
    owns, trouble = owner(arguments.all_namespaces)
    events = trace_events.load(os.path.join(folder, "events/tcp"), owns)
    if not any(event.name == "tcp_probe" for event in events):
        cannot("this kernel has no tcp:tcp_probe tracepoint", "Linux 4.16 or newer; use diag")
    try:
        instance = Instance(folder)
    except OSError as error:
        cannot("no trace instance: %s" % error, "run as root with tracefs writable")
    try:
        log = Log(stream, COLLECTOR, trace_events.fields(events), trace_events.layout(events))
        if trouble:
            log.note(trouble)
        buffers = [trace_buffer.Buffer(instance.path, cpu) for cpu in instance.cpus()]
        set_up(instance, events, arguments.port, arguments.buffer)
        tell({"started": COLLECTOR})
        by_id = {event.id: event for event in events}

        def body(log):
            try:
                pump(log, stop, buffers, by_id)
            finally:
                instance.set("tracing_on", "0")
                for buffer in buffers:
                    log.losing("ring", buffer.newly_lost())
                    buffer.close()

        finish(log, stop, body)
        log.status()
    finally:
        instance.remove()


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tracefs", description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, action="append", help="only sockets with this port")
    parser.add_argument(
        "--all-namespaces", action="store_true", help="not only sockets of this one"
    )
    parser.add_argument("--buffer", type=int, metavar="MB", help="buffer of each CPU")
    parser.add_argument("--duration", type=float, help="seconds, then stop")
    parser.add_argument("--with-parent", action="store_true", help="stop when the parent dies")
    collect(parser.parse_args(arguments), sys.stdout.buffer)
