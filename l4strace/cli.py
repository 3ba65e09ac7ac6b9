"""The command line: what commands there are, and how errors become exit codes."""

from __future__ import annotations

import atexit
import functools
import gc
import inspect
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from l4strace import console, resources
from l4strace.commands import memory
from l4strace.commands.groups import expanded, gathered
from l4strace.errors import L4straceError, OutputError, reason

COMMANDS = (
    "capture",
    "doctor",
    "watch",
    "diagnose",
    "flows",
    "export",
    "figures",
    "sweep",
    "compare",
    "redact",
    "explain",
    "verify",
)
"""Commands in the order of the help; each is a function in a module of the same name."""

HELP = """Diagnose L4S, TCP Prague and Accurate ECN from captures and kernel logs.

Exit codes: 0 success; 1 findings at or above --fail-on (diagnose), differences (verify) or a
recorder that died (capture); 2 wrong usage; 3 unreadable or unsupported input, output that cannot
be written, or out of memory; 4 a collector cannot run; 70 a bug in l4strace; 130 interrupted.

\b
Examples:
  l4strace diagnose run.pcapng
  l4strace explain L4S301
"""

INTERNAL = 70
"""Exit code of a bug: EX_SOFTWARE of sysexits.h."""

SWITCHES = {
    "quiet": (("--quiet", "-q"), "Print results and errors only."),
    "verbose": (("--verbose", "-v"), "Also print how long each stage took."),
    "no_color": (("--no-color",), "Print without color, as with NO_COLOR set."),
    "debug": (("--debug",), "Print the traceback of an error."),
}


class _Commands(Mapping[str, Any]):
    """Commands by name, each imported and built only on demand: a run needs one of twelve."""

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        return _built(name)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Group(TyperGroup):
    """The command line: typer's group, with commands that are built on demand."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Commands()  # type: ignore[assignment]


class _Command(TyperCommand):
    """A command with the usual usage line: typer puts braces around `FILE...`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


app = typer.Typer(
    name="l4strace",
    cls=_Group,
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": console.MOST_WIDTH,
    },
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        console.emit(f"l4strace {version('l4strace')}")
        raise typer.Exit


@app.callback()
def _l4strace(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


_l4strace.__doc__ = HELP


def _with_switches(function: Callable[..., None]) -> Callable[..., None]:
    """``function`` with the switches that every command has."""

    @functools.wraps(function)
    def command(**arguments: Any) -> None:
        switches = {name: arguments.pop(name) for name in SWITCHES}
        console.configure(console.Settings(**switches))
        _heed_interrupts()
        function(**gathered(function, arguments))

    parameters = expanded(function)
    for name, (flags, text) in SWITCHES.items():
        annotation = Annotated[bool, typer.Option(*flags, help=text)]
        parameters.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation
            )
        )
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command


def _heed_interrupts() -> None:
    """Makes an interrupt raise KeyboardInterrupt from here on, so that open work is cleaned up."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _takes_inputs(function: Callable[..., None]) -> bool:
    """Whether the command requires inputs; without arguments it then shows its help."""
    return not {"paths", "sources"}.isdisjoint(one.name for one in expanded(function))


@functools.cache
def _built(name: str) -> Any:
    """The click command of a name in COMMANDS."""
    function = getattr(import_module(f"l4strace.commands.{name}"), name)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(cls=_Command, no_args_is_help=_takes_inputs(function))(_with_switches(function))
    return typer.main.get_command(alone)


def main() -> None:
    """Entry point: our own errors become a message, a hint and an exit code."""
    # Else Python looks for cycles among all that is left before it exits: a tenth of a short run.
    atexit.register(gc.freeze)
    console.open_streams()
    memory.guard()
    resources.query_in_memory()
    try:
        app(prog_name="l4strace")
    except L4straceError as error:
        if console.settings().debug:
            raise
        _fail(str(error), error.hint)
        sys.exit(error.exit_code)
    except OSError as error:
        if console.settings().debug:
            raise
        # A disk that is full, a stream that is closed: nothing that l4strace can mend.
        _fail(f"{error.filename or 'output'}: {reason(error)}", "")
        console.discard_stdout()
        sys.exit(OutputError.exit_code)
    except MemoryError:
        memory.give_up()
    except BaseException as error:
        # A panic of native code is not an Exception, so that nobody takes it for one of Python's.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        if memory.starved():
            memory.give_up()
        if console.settings().debug:
            raise
        _fail(
            f"l4strace itself failed ({type(error).__name__}: {reason(error)})",
            "This is a bug: please report it with the output of --debug.",
        )
        sys.exit(INTERNAL)


def _fail(message: str, hint: str) -> None:
    """Prints the message and the hint, wrapped to the terminal between words."""
    from l4strace.wording.wrap import whole, wrapped

    for word in sys.argv[1:]:
        message = message.replace(word, whole(word)) if " " in word else message
    prefix = " " * len(console.ERROR)
    width = console.width()
    console.fail(wrapped(message, width, "", prefix).removeprefix(prefix), wrapped(hint, width))
