"""Packets written by ourselves: from tcpdump's output, or from an AF_PACKET ring."""

import os
import time

from packets import pcapng
from packets.filters import UnknownFilterError
from packets.ring import Ring
from packets.tcpdump import Tcpdump
from process import cannot, tell

RING_FILES = 4


class Writer:
    """The pcapng file, or the ring of files, that all interfaces share."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.interfaces = []
        self.files = []
        self.limit = arguments.ring and arguments.ring * 1000000 // RING_FILES
        self.packets = 0
        self.pending = []
        self.size = 0
        self.output = None

    def open(self, interfaces):
        """Begin with `interfaces` as (name, link type)."""
        self.interfaces = interfaces
        self._next()

    def _next(self):
        path = self.arguments.write
        if self.limit:
            path = "%s.part%05d" % (path, len(self.files))
        if self.output:
            self.output.close()
        self.output = open(path, "wb", buffering=0)
        self.files.append(path)
        if self.limit and len(self.files) > RING_FILES:
            os.unlink(self.files[-1 - RING_FILES])
        self.size = 0
        self._put(pcapng.section())
        for name, link in self.interfaces:
            self._put(pcapng.interface(name, link, self.arguments.snaplen, self.arguments.filter))

    def _put(self, data):
        self.size += len(data)
        view = memoryview(data)
        while view:
            view = view[self.output.write(view) :]

    def flush(self):
        if self.pending:
            data = b"".join(self.pending)
            self.packets += len(self.pending)
            self.pending = []
            self._put(data)
            if self.limit and self.size > self.limit:
                self._next()

    def close(self, counts):
        """Write each interface's counts as (received, dropped)."""
        for number, (received, dropped) in enumerate(counts):
            self._put(pcapng.statistics(number, time.time_ns(), received, dropped))
        self.output.close()


def open_sources(arguments, backend):
    if backend == "tcpdump":
        return [Tcpdump(name, arguments) for name in arguments.interface]
    try:
        return [
            Ring(name, arguments.filter, arguments.snaplen, arguments.buffer)
            for name in arguments.interface
        ]
    except PermissionError:
        cannot("capturing packets needs CAP_NET_RAW", "run with sudo")
    except UnknownFilterError as error:
        cannot(
            "our own ring cannot compile the filter %r" % str(error), "install dumpcap or tcpdump"
        )
    return []


def capture(arguments, stop, backend):
    """Copy packets until stopped; return counts per interface and how it ended."""
    sources = open_sources(arguments, backend)
    writer = Writer(arguments)
    ended = None
    try:
        writer.open([(source.name, source.link_type) for source in sources])
        tell({"started": backend})
        ended = copy(sources, writer, stop)
        ended = finish(sources, writer, stop) or ended
    except OSError as error:
        ended = error.strerror or str(error)
    counts = {s.name: {"received": s.received, "dropped": s.dropped} for s in sources}
    return {
        "packets": writer.packets,
        "interfaces": counts,
        "ended": stop.reason if ended is None else ended,
        "damaged": ended is not None,
        "files": writer.files[-RING_FILES:] if arguments.ring else writer.files,
    }


def take(sources, writer):
    """Copy what is waiting; return how many packets."""
    total = 0
    for number, source in enumerate(sources):
        pending = writer.pending

        def emit(ts_ns, wire, data, number=number, pending=pending):
            pending.append(pcapng.packet(number, ts_ns, wire, data))

        total += source.packets(emit)
    writer.flush()
    return total


def copy(sources, writer, stop):
    """Copy until stopped or a source ends; return why if it was not asked for."""
    told = 0.0
    while not stop:
        stop.sleep(0.1, sources)
        total = take(sources, writer)
        if time.monotonic() - told > 1.0:
            told = time.monotonic()
            tell_status(sources, writer)
        gone = [source.name for source in sources if not total and not source.alive()]
        if gone:
            return "interface %s went away" % ", ".join(gone)
    return None


def tell_status(sources, writer):
    for source in sources:
        source.count()
    dropped = [source.dropped for source in sources if source.dropped is not None]
    status = {"packets": writer.packets, "bytes": writer.size}
    if dropped:
        status["dropped"] = sum(dropped)
    tell({"status": status})


def finish(sources, writer, stop):
    """Take what the kernel still holds, then write the counts."""
    for source in sources:
        if hasattr(source, "stop"):
            source.stop()
    deadline = time.monotonic() + (0.2 if stop else 0.0)
    while True:
        total = take(sources, writer)
        waiting = any(hasattr(s, "stop") and s.alive() for s in sources)
        if not total and time.monotonic() > deadline and not waiting:
            break
        if time.monotonic() > deadline + 5:
            break
        time.sleep(0.02)
    for source in sources:
        try:
            source.count()
        except OSError:
            pass
        source.close()
    writer.close([(source.received, source.dropped) for source in sources])
