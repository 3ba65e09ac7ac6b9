"""Packets of one or more interfaces into one pcapng file: dumpcap, else tcpdump, else our own ring.

python3 collectors packets -i eth0 --filter 'tcp port 5201' -w run.pcapng
"""

import argparse
import os
import shutil
import sys
import time

from packets import copying, dumpcap
from packets.pcapng import mend
from packets.programs import BACKENDS, choose
from process import Stop, cannot, tell

BUFFER_MB = 32
"""Kernel buffer per interface: about 150,000 packets of 128 bytes."""


def check_interfaces(names):
    for name in names:
        try:
            present = [entry[1] for entry in __import__("socket").if_nameindex()]
        except OSError:
            return
        if name not in present:
            cannot("no interface %s" % name, "there are: " + ", ".join(sorted(present)))


def parse(arguments):
    parser = argparse.ArgumentParser(prog="packets", description=__doc__.splitlines()[0])
    parser.add_argument("-i", "--interface", action="append", required=True)
    parser.add_argument("-w", "--write", required=True, metavar="FILE")
    parser.add_argument("--filter", default="", help="pcap filter")
    parser.add_argument("--snaplen", type=int, default=128)
    parser.add_argument("--ring", type=int, metavar="MB", help="keep only the last MB megabytes")
    parser.add_argument("--buffer", type=int, default=BUFFER_MB, metavar="MB")
    parser.add_argument("--backend", choices=("auto", *BACKENDS), default="auto")
    parser.add_argument("--duration", type=float)
    parser.add_argument("--with-parent", action="store_true")
    return parser.parse_args(arguments)


def main(arguments=None):
    arguments = parse(arguments)
    check_interfaces(arguments.interface)
    stop = Stop(arguments.duration, arguments.with_parent)
    backend = choose(arguments.backend)
    module = dumpcap if backend == "dumpcap" else copying
    result = module.capture(arguments, stop, backend)
    result["backend"] = backend
    if result.get("damaged"):
        for path in result["files"]:
            if os.path.exists(path):
                result["cut_bytes"] = mend(path, time.time_ns(), result["ended"])
    if arguments.ring:
        result["bytes"] = join(result["files"], arguments.write)
    elif os.path.exists(arguments.write):
        result["bytes"] = os.path.getsize(arguments.write)
    tell({"packets": result})
    sys.exit(0 if result["ended"] in ("signal", "duration", "reader") else 1)


def join(files, target):
    """Put the ring's files, oldest first, behind each other: pcapng allows several sections."""
    files = [path for path in files if os.path.exists(path)]
    if not files:
        return 0
    with open(files[0], "ab") as output:
        for path in files[1:]:
            with open(path, "rb") as part:
                shutil.copyfileobj(part, output, 1 << 20)
            os.unlink(path)
    os.rename(files[0], target)
    return os.path.getsize(target)
