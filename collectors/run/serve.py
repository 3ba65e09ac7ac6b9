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


def send(path):
    """Send one file. Raises OSError if nobody takes it."""
    size = os.path.getsize(path)
    put(json.dumps({"file": os.path.basename(path), "size": size}).encode() + b"\n")
    with open(path, "rb") as file:
        while size:
            chunk = file.read(min(CHUNK, size))
            put(chunk)
            size -= len(chunk)


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
        keep = recording.begun
        for path in recording.files():
            send(path)
        put(json.dumps({"end": code}).encode() + b"\n")
        keep = False
    except OSError:
        sys.exit(5)
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
