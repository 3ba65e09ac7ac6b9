"""`l4strace watch`: the flows, live."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from l4strace import console
from l4strace.commands.arguments import Part
from l4strace.commands.capture import (
    Backend,
    ByBackend,
    Duration,
    Filter,
    Force,
    FromKernel,
    Kernel,
)
from l4strace.errors import CollectorError, UsageError


def watch(
    *,
    interface: Annotated[
        list[str] | None,
        typer.Option(
            "--interface", "-i", metavar="IF", help="Interface to watch; may be repeated."
        ),
    ] = None,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="STEM", help="Keep the run under this name."),
    ] = "",
    filter: Filter = "",  # noqa: A002 - the option's name
    duration: Duration = None,
    kernel: FromKernel = Kernel.auto,
    packets: ByBackend = Backend.auto,
    part: Part,
    force: Force = False,
) -> None:
    """Show the flows live: codepoints, marks, alpha, queue, rate.

    Redraws the screen every second and adds findings as evidence accumulates. s sorts by rate,
    queue, marks or RTT; j and k scroll; o shows one flow alone; q quits and prints the verdict. -o
    keeps the run as `capture` does; without -o the recording is deleted at the end. --filter limits
    what is recorded, --flow, --port, --host and --dscp what is shown, --from and --to what findings
    cover.

    \b
    Examples:
      sudo l4strace watch -i eth0
      sudo l4strace watch -i eth0 --filter 'tcp port 5201' -o run
    """
    import tempfile
    from pathlib import Path

    from l4strace.capture import summary
    from l4strace.capture.request import Request, check_free, stem_of
    from l4strace.watch.session import Session

    if not sys.stdout.isatty():
        raise UsageError(
            "standard output is not a terminal, and `watch` draws on one",
            "Record with `l4strace capture` and read it with `l4strace diagnose`.",
        )
    selection = part.selection()
    if not interface:
        raise UsageError("no interface to watch", "Name one with -i; `ip link` lists them.")
    with tempfile.TemporaryDirectory(prefix="l4strace-watch-") as folder:
        stem = stem_of(output) if output else Path(folder) / "run"
        check_free(stem, force)
        request = Request(
            interfaces=tuple(interface),
            stem=stem,
            duration_s=duration,
            filter_text=filter,
            kernel=kernel.value,
            backend=packets.value,
        )
        session = Session(request, selection)
        recorded = session.run(keep=bool(output))
        if not recorded:
            raise CollectorError(
                "the recorder died", "Run `l4strace capture`: it shows the reason."
            )
        if session.verdict:
            console.emit(session.verdict)
        if output:
            recorded = summary.packed(recorded)
            console.note(summary.render(recorded))
            console.emit(summary.next_step([stem.with_name(stem.name + ".pcapng")]))
