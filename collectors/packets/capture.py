"""Packets of one or more interfaces into one pcapng file: dumpcap, else tcpdump, else our own ring.

python3 collectors packets -i eth0 --filter 'tcp port 5201' -w run.pcapng
"""

import argparse
import os
import shutil
import socket
import sys
import tempfile
import time

from files import create
from packets import copying, dumpcap, pcapng
from packets.joining import join
from packets.programs import BACKENDS, choose
from process import Stop, cannot, tell

BUFFER_MB = 32
"""Kernel buffer per interface: about 150,000 packets of 128 bytes."""
COUNTED_BYTES = 64 << 20
"""A file of this size is counted again from the disk, which takes a second."""
AS_ASKED = ("signal", "duration", "reader", "count")


def check_interfaces(names):
    """Exit with a list of interfaces if one of `names` is not one; `any` stands for all of them."""
    present = [name for _, name in socket.if_nameindex()]
    for name in names:
        if name != "any" and name not in present:
            cannot("no interface %s" % name, "there are: " + ", ".join(sorted(present)))


def parse(arguments):
    parser = argparse.ArgumentParser(prog="packets", description=__doc__.splitlines()[0])
    parser.add_argument("-i", "--interface", action="append", required=True)
    parser.add_argument("-w", "--write", required=True, metavar="FILE", help="must be new")
    parser.add_argument("--output-fd", type=int, help="FILE, already open")
    parser.add_argument("--writers-fd", type=int, help="held by all that write packets")
    parser.add_argument("--filter", default="", help="pcap filter")
    parser.add_argument("--snaplen", type=int, default=128)
    parser.add_argument("--ring", type=int, metavar="MB", help="keep only the last MB megabytes")
    parser.add_argument("--pieces", metavar="FOLDER", help="of the ring: nobody else may enter it")
    parser.add_argument("--buffer", type=int, default=BUFFER_MB, metavar="MB")
    parser.add_argument("--count", type=int, metavar="N", help="stop after N packets")
    parser.add_argument("--backend", choices=("auto", *BACKENDS), default="auto")
    parser.add_argument("--duration", type=float)
    parser.add_argument("--with-parent", action="store_true")
    return parser.parse_args(arguments)


def main(arguments=None):
    arguments = parse(arguments)
    check_interfaces(arguments.interface)
    stop = Stop(arguments.duration, arguments.with_parent)
    backend = choose(arguments.backend)
    if arguments.output_fd is None:
        try:
            arguments.output_fd = create(arguments.write)
        except OSError as error:
            cannot("%s: %s" % (arguments.write, error.strerror))
    if arguments.ring and not arguments.pieces:
        folder = os.path.dirname(arguments.write) or "."
        arguments.pieces = tempfile.mkdtemp(prefix=".l4strace-", dir=folder)
    try:
        module = dumpcap if backend == "dumpcap" else copying
        result = module.capture(arguments, stop, backend)
        result["backend"] = backend
        settle(arguments, result)
    finally:
        if arguments.pieces:
            shutil.rmtree(arguments.pieces, ignore_errors=True)
    tell({"packets": result})
    sys.exit(0 if result["ended"] in AS_ASKED else 1)


def settle(arguments, result):
    """Bring the file into order and correct the counts by what is in it."""
    output, pieces = arguments.output_fd, result.pop("files")
    if arguments.ring:
        trouble = join(pieces, output)
        result["ended"] = trouble or result["ended"]
        result["damaged"] |= bool(trouble)
    if result.pop("damaged"):
        result["cut_bytes"] = pcapng.mend(output, time.time_ns(), result["ended"])
        result["packets"] = pcapng.walk(output)[1]
    elif arguments.ring:
        # Pieces that made room took their packets along.
        result["seen"] = result.pop("packets")
        if os.fstat(output).st_size <= COUNTED_BYTES:
            result["packets"] = pcapng.walk(output)[1]
    elif os.fstat(output).st_size <= COUNTED_BYTES:
        whole, written, _ = pcapng.walk(output)
        short = result["packets"] - written
        if short > 0 or whole < os.fstat(output).st_size:
            result["ended"] = "%d packets did not reach the disk: is it full?" % max(0, short)
            result["cut_bytes"] = pcapng.mend(output, time.time_ns(), result["ended"])
        result["packets"] = written
    if not arguments.ring:
        count_missing(result["interfaces"], result["packets"])
    for row in result["interfaces"].values():
        row.pop("written", None)
    result["bytes"] = os.fstat(output).st_size


def count_missing(interfaces, written):
    """Count as dropped what an interface received and the file does not hold.

    The kernel's count of drops is only what its buffer had no room for.
    """
    known = [row for row in interfaces.values() if row.get("received") is not None]
    for row in known:
        own = row.get("written", written if len(interfaces) == 1 else None)
        if own is not None:
            row["dropped"] = max(row["dropped"] or 0, row["received"] - own)
