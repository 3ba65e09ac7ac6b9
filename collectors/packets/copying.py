"""Packets written by ourselves: from tcpdump's output, or from an AF_PACKET ring."""

import os
import socket
import time

from files import create, write_all
from host import interfaces
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
        self.of_interface = {}
        self.pending = []
        self.waiting = 0
        self.size = 0
        self.output = arguments.output_fd

    def open(self, interfaces):
        """Begin with `interfaces` as (name, link type)."""
        self.interfaces = interfaces
        if self.limit:
            self._next()
        else:
            self._head()

    def _next(self):
        path = os.path.join(self.arguments.pieces, "%05d" % len(self.files))
        if self.files:
            os.close(self.output)
        self.output = create(path)
        self.files.append(path)
        if len(self.files) > RING_FILES:
            os.unlink(self.files[-1 - RING_FILES])
        self.size = 0
        self._head()

    def _head(self):
        self._put(pcapng.section())
        for name, link in self.interfaces:
            self._put(pcapng.interface(name, link, self.arguments.snaplen, self.arguments.filter))

    def _put(self, data):
        write_all(self.output, data)
        self.size += len(data)

    def add(self, number, block):
        """Take a packet of interface `number`; `flush` writes it."""
        if not self.full():
            self.pending.append(block)
            self.waiting += len(block)
            if self.limit and self.size + self.waiting > self.limit:
                # However much came at once, no piece of a ring is larger.
                self.flush()
            self.of_interface[number] = self.of_interface.get(number, 0) + 1

    def full(self):
        """Return whether as many packets as asked for are here."""
        return 0 < (self.arguments.count or 0) <= self.packets + len(self.pending)

    def flush(self):
        if self.pending:
            blocks, self.pending, self.waiting = self.pending, [], 0
            self._put(b"".join(blocks))
            self.packets += len(blocks)
            if self.limit and self.size > self.limit:
                self._next()

    def close(self, counts):
        """Write each interface's counts as (received, dropped)."""
        for number, (received, dropped) in enumerate(counts):
            self._put(pcapng.statistics(number, time.time_ns(), received, dropped))


def open_sources(arguments, backend):
    if backend == "tcpdump":
        return [Tcpdump(name, arguments) for name in arguments.interface]
    try:
        return [
            Ring(name, arguments.filter, arguments.snaplen, arguments.buffer)
            for name in one_by_one(arguments.interface)
        ]
    except PermissionError:
        cannot("capturing packets needs CAP_NET_RAW", "run with sudo")
    except UnknownFilterError as error:
        cannot(
            "the built-in capture does not support the filter %r" % str(error),
            "install dumpcap or tcpdump",
        )
    return []


def one_by_one(names):
    """Return the interfaces that `any` stands for: a ring belongs to one."""
    if "any" not in names:
        return names
    return [name for _, name in socket.if_nameindex() if interfaces.is_up(name)]


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
    if ended is None and writer.full():
        ended = "count"
    counts = {
        source.name: dict(
            totals(source, writer, number), written=writer.of_interface.get(number, 0)
        )
        for number, source in enumerate(sources)
    }
    return {
        "packets": writer.packets,
        "interfaces": counts,
        "ended": stop.reason if ended is None else ended,
        "damaged": ended not in (None, "count"),
        "files": writer.files[-RING_FILES:],
    }


def take(sources, writer):
    """Copy what is waiting; return how many packets."""
    total = 0
    for number, source in enumerate(sources):

        def emit(ts_ns, wire, data, number=number):
            writer.add(number, pcapng.packet(number, ts_ns, wire, data))

        total += source.packets(emit)
    writer.flush()
    return total


def copy(sources, writer, stop):
    """Copy until stopped or a source ends; return why if it was not asked for."""
    told = 0.0
    while not stop and not writer.full():
        stop.sleep(0.1, sources)
        total = take(sources, writer)
        if time.monotonic() - told > 1.0:
            told = time.monotonic()
            tell_status(sources, writer)
        gone = [source.name for source in sources if not total and not source.alive()]
        if gone:
            return "interface %s was removed" % ", ".join(gone)
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
    rows = [totals(source, writer, number) for number, source in enumerate(sources)]
    writer.close([(row["received"], row["dropped"]) for row in rows])


def totals(source, writer, number):
    """Return what one interface received and dropped; what was not written counts as dropped.

    The kernel counts what its buffer had no room for; more is left in it when tcpdump ends.
    """
    received, dropped = source.received, source.dropped
    if received is not None and not writer.full():
        dropped = max(dropped or 0, received - writer.of_interface.get(number, 0))
    return {"received": received, "dropped": dropped}
