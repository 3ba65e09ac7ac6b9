"""`l4strace doctor`: what this host can and cannot do."""

from __future__ import annotations

from typing import Annotated

import typer

from l4strace import console


def doctor(
    interface: Annotated[
        list[str] | None,
        typer.Option("--interface", "-i", metavar="IF", help="Judge these. [default: all up]"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what this host can do for L4S work and capture.

    One line per topic, with the remedy where something is missing. Changes nothing. Exit code 0
    also when things are missing.

    \b
    Examples:
      sudo l4strace doctor
      l4strace doctor -i eth0 --json | jq '.doctor[] | select(.state != "ok")'
    """
    from l4strace.capture import examination

    found = examination.run(tuple(interface or ()))
    if json:
        import json as encoder

        console.emit(encoder.dumps({"schema": 1, "doctor": found}, indent=1))
    else:
        console.emit(examination.render(found, console.colored_results(), console.width()))
