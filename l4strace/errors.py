"""What can go wrong, and the exit code of each.

* L4straceError
  - UsageError (2): wrong options or arguments
  - InputError (3): a file that cannot be read, or is neither capture nor log
  - OutputError (3): a result that cannot be written
  - CollectorError (4): capture cannot run here (privileges, kernel, tools)
"""

INTERRUPTED = 130
"""Exit code of a command that an interrupt ended, as of a shell: 128 and SIGINT."""
MOST_REASON = 200
"""Characters of another program's reason that are repeated."""


def reason(error: BaseException) -> str:
    """What went wrong, on one line: the words of the system, else the first ones of a library."""
    words = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(words).partition("\n")[0][:MOST_REASON]


class L4straceError(Exception):
    """Base: ``str(error)`` is one line; ``hint`` is what to do, or empty."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class UsageError(L4straceError):
    """The call asks for something that does not go together."""

    exit_code = 2


class InputError(L4straceError):
    """An input cannot be read or is not what it should be."""

    exit_code = 3


class OutputError(L4straceError):
    """A result cannot be written: a full disk, a reader that went away."""

    exit_code = 3


class CollectorError(L4straceError):
    """A collector cannot run on this host."""

    exit_code = 4
