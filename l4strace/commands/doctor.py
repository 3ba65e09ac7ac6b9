"""`l4strace doctor`: what this host can and cannot do."""

from __future__ import annotations

from typing import Annotated

import typer

from l4strace import console


def doctor(
    interface: Annotated[
        list[str] | None,
        typer.Option(
            "--interface",
            "-i",
            metavar="IF",
            help="Interface to check; may be repeated. [default: all that are up]",
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check what this host can do for L4S and for capture.

    One line per topic, with the remedy where something is missing, and one sentence at the end.
    Changes nothing. The exit code is 0 even when something is missing.

    \b
    Examples:
      sudo l4strace doctor
      l4strace doctor -i eth0 --json | jq '.doctor[] | select(.state != "ok")'
    """
    from l4strace.capture import examination
    from l4strace.capture.request import check_interfaces

    check_interfaces(interface or ())
    found = examination.run(tuple(interface or ()))
    if json:
        import json as encoder

        shown = {"schema": 1, "doctor": found.lines, "sentence": found.sentence}
        console.emit(encoder.dumps(shown, indent=1))
    else:
        console.emit(examination.render(found, console.colored_results(), console.width()))
