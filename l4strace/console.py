"""The terminal: results on stdout, everything else on stderr, and how both look.

`cli` sets the four switches that every command has (`--quiet`, `--verbose`, `--no-color`,
`--debug`) once through `configure`; commands only call `emit`, `note` and `detail`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, TextIO

from l4strace import resources
from l4strace.errors import OutputError

PROGRESS_AFTER_S = 0.5
"""A run that is done by then shows no progress at all."""
PROGRESS_EVERY_S = 0.1
ERROR = "error: "
PIPE_WIDTH = 80
MOST_WIDTH = 100
"""Longer lines of prose read badly, by eye."""
LEAST_WIDTH = 40
PLAIN_EVERY_S = 10.0
"""How often a log file gets a line of progress."""


class Settings(NamedTuple):
    """The switches that every command has."""

    quiet: bool = False
    verbose: bool = False
    no_color: bool = False
    debug: bool = False


_settings = Settings()


def configure(settings: Settings) -> None:
    """Sets the switches of this process."""
    global _settings
    _settings = settings


def settings() -> Settings:
    """The switches in force."""
    return _settings


def colored(stream: TextIO) -> bool:
    """Whether to color ``stream``: https://no-color.org, FORCE_COLOR, dumb terminals, pipes."""
    if _settings.no_color or os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def colored_results() -> bool:
    """Whether results on stdout are colored."""
    return colored(sys.stdout)


def width() -> int:
    """Columns for text: COLUMNS or the terminal's, from 40 to 100; 80 in a pipe."""
    columns = shutil.get_terminal_size((PIPE_WIDTH, 24)).columns
    return max(LEAST_WIDTH, min(columns, MOST_WIDTH))


def printable(text: str) -> str:
    """``text`` without control characters: names from a capture must not drive the terminal."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else _escaped(c) for c in text)


def one_line(text: str) -> str:
    """``text`` as `printable`, without line ends: a name must not begin a line of its own."""
    return printable(text).replace("\n", "\\x0a")


def shell_word(text: str) -> str:
    """``text`` quoted as one word for a shell, and safe to print on a terminal."""
    if text.isprintable():
        return shlex.quote(text)
    quoted = text.replace("\\", "\\\\").replace("'", "\\'")
    # Bytes, because a name need not be UTF-8.
    escaped = (
        c if c.isprintable() else "".join(f"\\x{byte:02x}" for byte in os.fsencode(c))
        for c in quoted
    )
    return "$'" + "".join(escaped) + "'"


def _escaped(char: str) -> str:
    point = ord(char)
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"


def open_streams() -> None:
    """Prints what the terminal's encoding lacks as escapes; a closed stream takes everything."""
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if stream is None:
            # `>&-`: the next file that is opened would take the number, and with it the output.
            os.dup2(os.open(os.devnull, os.O_RDWR), number)
            setattr(sys, name, os.fdopen(number, "r" if number == 0 else "w"))
        elif number and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def emit(text: str) -> None:
    """Prints a result. A reader that went away (`| head`) is not an error.

    Raises OutputError when standard output takes no more, as on a full disk.
    """
    try:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        discard_stdout()
    except OSError as error:
        discard_stdout()
        raise OutputError(f"standard output cannot be written ({error.strerror})") from error


def discard_stdout() -> None:
    """Lets what is still buffered for a standard output that fails go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def note(text: str) -> None:
    """Prints what is not a result to stderr, unless `--quiet`."""
    if not _settings.quiet:
        print(printable(text), file=sys.stderr)


def detail(text: str) -> None:
    """Prints to stderr with `--verbose` only."""
    if _settings.verbose:
        print(printable(text), file=sys.stderr)


def fail(message: str, hint: str = "") -> None:
    """Prints what is wrong, then what to do, on stderr. `cli` has already wrapped it."""
    word = f"\x1b[1;31m{ERROR}\x1b[0m" if colored(sys.stderr) else ERROR
    print(f"{word}{printable(message)}", file=sys.stderr)
    if hint:
        print(printable(hint), file=sys.stderr)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Times one stage of the work for `--verbose` and `--timings`."""
    with resources.timed(name) as timing:
        yield
    detail(f"{name}: {timing.wall_s:.3f} s")


class Progress:
    """Shows how many bytes of how many are done; calls may come as often as they like.

    On a terminal one line that is rewritten, after half a second; elsewhere a plain line every ten
    seconds; nothing with `--quiet`. ``total`` 0 means that the size is not known.
    """

    def __init__(self, what: str) -> None:
        self._what = what
        self._start = self._shown = time.monotonic()
        self._terminal = sys.stderr.isatty()
        self._drawn = False

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        every = PROGRESS_EVERY_S if self._terminal else PLAIN_EVERY_S
        if _settings.quiet or now - self._start < PROGRESS_AFTER_S or now - self._shown < every:
            return
        self._shown = now
        line = f"{self._what}: {self.state(done, total, now - self._start)}"
        self._drawn = self._terminal
        print(f"\r{line}\x1b[K" if self._terminal else line, end="", file=sys.stderr, flush=True)
        if not self._terminal:
            print(file=sys.stderr)

    def state(self, done: int, total: int, elapsed: float) -> str:
        """Text that states the progress after ``elapsed`` seconds."""
        share = f"{100 * done / total:3.0f} %" if total else f"{done / 1e6:,.0f} MB"
        return f"{share}, {elapsed:.0f} s"

    def close(self) -> None:
        """Erases the line."""
        if self._drawn:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
