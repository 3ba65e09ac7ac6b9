"""Run one collector: `python3 collectors NAME ...`, from this folder or a zipapp of it."""

import importlib
import sys

COLLECTORS = {
    "record": "packets, kernel state and host, one run",
    "serve": "record for a controller over ssh",
    "packets": "packets into a pcapng file",
    "bcc": "kernel state from kprobes, by BCC",
    "tracefs": "kernel state from tracepoints",
    "diag": "kernel state by polling inet_diag",
    "host": "what this host is set to",
    "doctor": "what this host can do",
}


def main():
    if len(sys.argv) < 2 or sys.argv[1] not in COLLECTORS:
        names = "\n".join("  %-10s %s" % item for item in COLLECTORS.items())
        sys.exit("usage: python3 collectors NAME [OPTION...]\n" + names)
    # A module called bcc would hide the package of that name.
    module = {"bcc": "bcc_probes"}.get(sys.argv[1], sys.argv[1])
    importlib.import_module(module).main(sys.argv[2:])


if __name__ == "__main__":
    main()
