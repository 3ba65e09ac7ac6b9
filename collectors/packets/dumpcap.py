"""Packets through dumpcap: it drops privileges and writes pcapng with drop counts by itself."""

import functools
import glob
import os
import re
import signal
import subprocess
import time

from packets.programs import which
from process import follow_parent, tell

COUNT = re.compile(rb"Packets: (\d+)")
TOTALS = re.compile(r"on interface '(.+?)': (\d+)/(\d+) \(")
RING_FILES = 4
STOP_SECONDS = 10.0
FLUSH_SECONDS = 0.3
"""Before stopping: dumpcap's kernel ring hands over a block that is not full after this time."""


def command(arguments):
    """Return dumpcap's command line. What it writes to stdout is our file, already open."""
    line = [which("dumpcap"), "-p"]
    for name in arguments.interface:
        line += ["-i", name, "-s", str(arguments.snaplen), "-B", str(arguments.buffer)]
        if arguments.filter:
            line += ["-f", arguments.filter]
    if arguments.count:
        line += ["-c", str(arguments.count)]
    if not arguments.ring:
        return [*line, "-w", "-"]
    kilobytes = max(1, arguments.ring * 1000 // RING_FILES)
    line += ["-b", "filesize:%d" % kilobytes, "-b", "files:%d" % RING_FILES]
    return [*line, "-w", os.path.join(arguments.pieces, "piece.pcapng")]


def files(arguments):
    """Return the pieces of a ring in order of time."""
    return pieces_of(arguments.pieces)


def pieces_of(folder):
    """Return what is there: dumpcap removes the oldest at any moment."""
    found = []
    for path in glob.glob(os.path.join(glob.escape(folder), "*")):
        try:
            found.append((os.stat(path).st_mtime_ns, path))
        except FileNotFoundError:
            continue
    return [path for _, path in sorted(found)]


def size(arguments):
    """Return how many bytes are written."""
    if arguments.ring:
        return sum(size_of(path) for path in files(arguments))
    return os.fstat(arguments.output_fd).st_size


def size_of(path):
    try:
        return os.path.getsize(path)
    except FileNotFoundError:
        return 0


class Output:
    """dumpcap's stderr: running count in between carriage returns, totals at the end."""

    def __init__(self, process):
        self.process = process
        self.text = b""
        self.packets = 0
        os.set_blocking(process.stderr.fileno(), False)

    def read(self):
        try:
            chunk = os.read(self.process.stderr.fileno(), 65536)
        except BlockingIOError:
            return True
        found = COUNT.findall(chunk)
        if found:
            self.packets = max(self.packets, int(found[-1]))
        self.text = (self.text + COUNT.sub(b"", chunk))[-20000:]
        return bool(chunk)

    def lines(self):
        text = self.text.decode(errors="replace").replace("\r", "\n")
        return [line.strip() for line in text.splitlines() if line.strip()]


def capture(arguments, stop, _backend):
    """Run dumpcap until stopped; return counts per interface and how it ended."""
    process = subprocess.Popen(
        command(arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if arguments.ring else arguments.output_fd,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=() if arguments.writers_fd is None else (arguments.writers_fd,),
        preexec_fn=functools.partial(follow_parent, os.getpid()),
    )
    output = Output(process)
    watch(process, output, stop, arguments)
    asked = stop.reason
    if process.poll() is None:
        time.sleep(FLUSH_SECONDS)
        process.send_signal(signal.SIGINT)
    drain(process, output)
    return result(process, output, asked, arguments)


def watch(process, output, stop, arguments):
    """Report once a second until stopped or dumpcap ends."""
    reported, started = 0.0, False
    while not stop and process.poll() is None:
        stop.sleep(0.2, [process.stderr])
        if not output.read():
            return
        if not started and b"File: " in output.text:
            tell({"started": "dumpcap"})
            started = True
        if time.monotonic() - reported > 1.0:
            reported = time.monotonic()
            tell({"status": {"packets": output.packets, "bytes": size(arguments)}})
        time.sleep(0.05)


def drain(process, output):
    """Read to the end; dumpcap that does not end is killed."""
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            while output.read() and output.process.stderr.readable():
                if process.poll() is not None and not more(process):
                    break
            return
        output.read()
        time.sleep(0.05)
    process.kill()
    process.wait()


def more(process):
    import select

    return bool(select.select([process.stderr], [], [], 0)[0])


def result(process, output, asked, arguments):
    lines = output.lines()
    interfaces = {}
    for line in lines:
        match = TOTALS.search(line)
        if match:
            received, dropped = int(match.group(2)), int(match.group(3))
            interfaces[match.group(1)] = {"received": received, "dropped": dropped}
    reported = [
        line for line in lines if not line.startswith(("Capturing on", "File:", "Packets "))
    ]
    ended = asked
    if not asked and arguments.count and process.returncode == 0:
        ended = "count"
    elif not asked:
        # Without rights each attempt to drop them fails first, with the same line.
        refused = [line for line in reported if "permission" in line.lower()]
        ended = " ".join(dict.fromkeys(reported))[:500] or "dumpcap ended by itself"
        if refused:
            # What follows in dumpcap's text is advice for one distribution.
            ended = refused[0].split(". ")[0]
        if process.returncode < 0:
            ended = "dumpcap was killed by signal %d" % -process.returncode
    return {
        "packets": sum(row["received"] for row in interfaces.values()) or output.packets,
        "interfaces": interfaces,
        "ended": ended,
        "damaged": process.returncode != 0 or not interfaces,
        "files": files(arguments) if arguments.ring else [],
    }
