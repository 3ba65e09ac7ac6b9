"""Pack a kernel log from stdin to stdout, a frame each second: what is packed is readable.

Whatever is killed later, all frames but the last are whole. On a full disk the file ends behind the
last whole frame.

    python3 collectors pack --with zstd < LOG > LOG.zst
"""

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import time
import zlib

EVERY_SECONDS = 1.0
CHUNK = 8 << 20
READ = 1 << 20
GZIP_WINDOW = 31
"""For zlib: a window of 32 KB, in gzip's container."""


def packed(data, program):
    """Return one frame of zstd, or one member of gzip where there is no program."""
    if program:
        run = subprocess.run([program, "-q", "-c", "-"], input=data, stdout=subprocess.PIPE)
        if run.returncode:
            raise OSError(0, "%s ended with code %d" % (program, run.returncode))
        return run.stdout
    packer = zlib.compressobj(1, zlib.DEFLATED, GZIP_WINDOW)
    return packer.compress(data) + packer.flush()


class Pack:
    """The output, with what has reached it."""

    def __init__(self, output, program):
        self.output = output
        self.program = program
        self.lines = self.bytes = 0

    def put(self, data):
        """Append one frame, whole or not at all. Raises OSError."""
        frame = memoryview(packed(data, self.program))
        try:
            while frame:
                frame = frame[os.write(self.output, frame) :]
        except OSError:
            os.ftruncate(self.output, self.bytes)
            raise
        self.lines += data.count(b"\n")
        self.bytes = os.fstat(self.output).st_size


def follow(source, pack):
    """Pack whole lines until the source ends; a last line that is cut is packed as it is.

    The first ones, the header, go to the disk at once: in a small frame, which fits on any.
    """
    select.select([source], [], [])
    held, due = b"", time.monotonic()
    while True:
        wait = max(0.0, due - time.monotonic())
        ready = select.select([source], [], [], wait)[0]
        chunk = os.read(source, READ) if ready else None
        held += chunk or b""
        if chunk == b"":
            if held:
                pack.put(held)
            return
        if len(held) < CHUNK and time.monotonic() < due:
            continue
        end = held.rfind(b"\n") + 1
        if end:
            pack.put(held[:end])
            held = held[end:]
        due = time.monotonic() + EVERY_SECONDS


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="pack", description=__doc__.splitlines()[0])
    parser.add_argument("--with", dest="program", help="zstd, by its path; gzip without it")
    # It ends when its source does: the collector still has its last lines to write.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    pack = Pack(1, parser.parse_args(arguments).program)
    code = 0
    result = {}
    try:
        follow(0, pack)
    except OSError as error:
        result["error"] = error.strerror or str(error)
        code = 1
    result.update(lines=pack.lines, bytes=pack.bytes)
    sys.stderr.write(json.dumps({"packed": result}) + "\n")
    sys.exit(code)
