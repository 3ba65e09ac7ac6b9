"""Packets written by ourselves: from tcpdump's output, or from an AF_PACKET ring."""

import os
import re
import signal
import struct
import subprocess
import time

import packet_socket
import packets
import pcapng
from log import cannot, follow_parent, tell

RING_FILES = 4
FILE_HEAD = struct.Struct("<IHHiIII")
RECORD = struct.Struct("<IIII")
NANOSECOND_MAGIC = 0xA1B23C4D
CHUNK = 1 << 20
DROPPED = re.compile(r"(\d+) packets? dropped by kernel")
RECEIVED = re.compile(r"(\d+) packets? received by filter")


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


class Tcpdump:
    """One tcpdump per interface, its classic pcap read from a pipe."""

    def __init__(self, name, arguments):
        self.name = name
        line = [packets.which("tcpdump"), "-i", name, "-n", "-p", "-U", "-w", "-"]
        line += ["--time-stamp-precision=nano", "-s", str(arguments.snaplen)]
        line += ["-B", str(arguments.buffer * 1024)]
        self.process = subprocess.Popen(
            line + ([arguments.filter] if arguments.filter else []),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=follow_parent,
        )
        self.data = b""
        self.received = self.dropped = None
        self.link_type = self._head()
        os.set_blocking(self.process.stdout.fileno(), False)

    def _head(self):
        head = self.process.stdout.read(FILE_HEAD.size)
        if len(head) < FILE_HEAD.size:
            text = self.process.stderr.read().decode(errors="replace").strip()
            cannot("tcpdump: " + text.splitlines()[-1] if text else "tcpdump wrote nothing")
        magic, _, _, _, _, _, link = FILE_HEAD.unpack(head)
        if magic != NANOSECOND_MAGIC:
            cannot("tcpdump gives no nanosecond stamps", "tcpdump 4.99 or newer, or dumpcap")
        return link

    def fileno(self):
        return self.process.stdout.fileno()

    def packets(self, emit):
        try:
            chunk = os.read(self.fileno(), CHUNK)
        except BlockingIOError:
            return 0
        data, at, total = self.data + chunk, 0, 0
        while at + 16 <= len(data):
            sec, nsec, length, wire = RECORD.unpack_from(data, at)
            if at + 16 + length > len(data):
                break
            emit(sec * 1000000000 + nsec, wire, data[at + 16 : at + 16 + length])
            at += 16 + length
            total += 1
        self.data = data[at:]
        return total

    def alive(self):
        return self.process.poll() is None

    def stop(self):
        if self.alive():
            time.sleep(0.2)
            self.process.send_signal(signal.SIGINT)

    def count(self):
        pass

    def close(self):
        """Read the totals that tcpdump tells when it ends."""
        try:
            text = self.process.communicate(timeout=5)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            self.process.kill()
            return
        for name, pattern in (("received", RECEIVED), ("dropped", DROPPED)):
            match = pattern.search(text)
            setattr(self, name, int(match.group(1)) if match else None)


def open_sources(arguments, backend):
    if backend == "tcpdump":
        return [Tcpdump(name, arguments) for name in arguments.interface]
    try:
        return [
            packet_socket.Ring(name, arguments.filter, arguments.snaplen, arguments.buffer)
            for name in arguments.interface
        ]
    except PermissionError:
        cannot("capturing packets needs CAP_NET_RAW", "run with sudo")
    except packet_socket.UnknownFilterError as error:
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
