"""One tcpdump per interface, its classic pcap read from a pipe."""

import functools
import os
import re
import signal
import struct
import subprocess
import time

from packets.loopback import once
from packets.programs import which
from process import cannot, follow_parent

FILE_HEAD = struct.Struct("<IHHiIII")
RECORD = struct.Struct("<IIII")
NANOSECOND_MAGIC = 0xA1B23C4D
CHUNK = 1 << 20
DROPPED = re.compile(r"(\d+) packets? dropped by kernel")
RECEIVED = re.compile(r"(\d+) packets? received by filter")


class Tcpdump:
    """One tcpdump per interface, its classic pcap read from a pipe."""

    def __init__(self, name, arguments):
        self.name = name
        line = [which("tcpdump"), "-i", name, "-n", "-p", "-U", "--immediate-mode", "-w", "-"]
        line += ["--time-stamp-precision=nano", "-s", str(arguments.snaplen)]
        line += ["-B", str(arguments.buffer * 1024)]
        self.process = subprocess.Popen(
            line + (["--", arguments.filter] if arguments.filter else []),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            preexec_fn=functools.partial(follow_parent, os.getpid()),
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
            cannot(
                "tcpdump does not support nanosecond timestamps",
                "tcpdump 4.99 or newer, or dumpcap",
            )
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
        """Read the totals that tcpdump prints when it ends."""
        try:
            text = self.process.communicate(timeout=5)[1].decode(errors="replace")
        except subprocess.TimeoutExpired:
            self.process.kill()
            return
        for name, pattern in (("received", RECEIVED), ("dropped", DROPPED)):
            match = pattern.search(text)
            setattr(self, name, int(match.group(1)) if match else None)
        if self.received is not None:
            self.received = once(self.name, self.received)
