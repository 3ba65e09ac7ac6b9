"""`l4strace`, and `python -m l4strace`: an interrupt is quiet while modules are imported, too."""

import os
import signal

from l4strace.errors import INTERRUPTED


def main() -> None:
    """Entry point."""
    # Not where it is ignored: a shell's background job.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    from l4strace.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
