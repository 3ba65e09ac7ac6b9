"""`l4strace` and `python -m l4strace`; an interrupt is also quiet during imports."""

import gc
import os
import signal

from l4strace.errors import INTERRUPTED

GARBAGE = 200_000
"""Objects alive after which Python looks for cycles among them. A short command
makes 100,000, most of them in imports: at the default of 700 it spends 7 % of its time looking."""


def main() -> None:
    """Entry point."""
    # Not where it is ignored: a shell's background job.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    gc.set_threshold(GARBAGE)
    from l4strace.cli import main as command_line

    command_line()


if __name__ == "__main__":
    main()
