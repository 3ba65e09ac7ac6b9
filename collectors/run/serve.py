"""Record for a controller at the other end of an ssh connection, then hand it the files.

Started by a line of Python that put this zipapp into a folder of its own. Orders come on stdin
(`clock`, `start`, `stop`), JSON lines go to stdout; after the summary each file follows as a JSON
line with its size and then its bytes. The folder is removed unless the connection was lost.
"""

import json
import os
import shutil
import sys

from run import record

CHUNK = 1 << 20


def send(path, file):
    """Send one file, given by its descriptor. Raises OSError if nobody takes it."""
    size, at = os.fstat(file).st_size, 0
    put(json.dumps({"file": os.path.basename(path), "size": size}).encode() + b"\n")
    while at < size:
        chunk = os.pread(file, min(CHUNK, size - at), at)
        put(chunk or b"\0" * (size - at))
        at += len(chunk) or size


def put(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def main(arguments=None):
    folder, *rest = arguments
    stem = os.path.join(folder, "run")
    options = ["-o", stem, "--status-fd", "1", "--control"]
    keep = False
    try:
        code, recording = record.record(record.parse(options + rest))
        # A lost connection must not cost what was recorded.
        keep = recording.control.begun
        for path, file in recording.files.open.items():
            send(path, file)
        put(json.dumps({"end": code}).encode() + b"\n")
        keep = False
    except OSError:
        sys.exit(5)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
