"""Run one collector: `python3 collectors NAME ...`, from this folder or a zipapp of it."""

import importlib
import os
import signal
import sys

COLLECTORS = {
    "record": ("run.record", "packets, kernel state and host, one run"),
    "serve": ("run.serve", "record for a controller over ssh"),
    "packets": ("packets.capture", "packets into a pcapng file"),
    "bcc": ("kernel.bcc", "kernel state from kprobes, by BCC"),
    "tracefs": ("kernel.tracefs", "kernel state from tracepoints"),
    "diag": ("kernel.diag", "kernel state by polling inet_diag"),
    "sweep": ("kernel.sweep", "remove what killed collectors left in the kernel"),
    "pack": ("run.pack", "a kernel log, a frame each second"),
    "host": ("host.describe", "what this host is set to"),
    "doctor": ("host.doctor", "what this host can do"),
}
INTERRUPTED = 130


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in COLLECTORS:
        names = "\n".join("  %-10s %s" % (name, row[1]) for name, row in COLLECTORS.items())
        sys.exit("usage: python3 collectors NAME [OPTION...]\n" + names)
    # Until a collector has its own way to stop (process.Stop) nothing has begun. Not where it is
    # ignored: a shell's background job.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    importlib.import_module(COLLECTORS[sys.argv[1]][0]).main(sys.argv[2:])


if __name__ == "__main__":
    main()
