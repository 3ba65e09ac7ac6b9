"""`l4strace doctor`: what this host can and cannot do."""

from __future__ import annotations

from typing import Annotated

import typer

from l4strace import console
from l4strace.errors import UsageError


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
    host: Annotated[
        str,
        typer.Option(
            "--host",
            metavar="NAME[:PORT]",
            help="Test the path to this server instead; port 443 unless stated.",
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Check what this host can do for L4S and for capture.

    One line per topic, with the remedy where something is missing, and one sentence at the end.
    Changes nothing. The exit code is 0 even when something is missing.

    With --host it connects to a server, and as root also sends a SYN that requests AccECN as
    ECT(1): is AccECN accepted, does ECT(1) arrive there, how does the SYN/ACK arrive here? No data
    is sent. The exit code is 1 if the server or one of these fails, 0 where an answer is unknown.

    \b
    Examples:
      sudo l4strace doctor --host server.example:5201
      l4strace doctor -i eth0 --json | jq '.doctor[] | select(.state != "ok")'
    """
    from l4strace.capture import examination
    from l4strace.capture.request import check_interfaces, server_of

    check_interfaces(interface or ())
    if host and interface:
        raise UsageError("--host tests a path, -i an interface", "Use one of them at a time.")
    found = examination.run(tuple(interface or ()), server_of(host) if host else None)
    if json:
        import json as encoder

        shown = {"schema": 1, "doctor": found.lines, "sentence": found.sentence}
        console.emit(encoder.dumps(shown, indent=1))
    else:
        console.emit(examination.render(found, console.colored_results(), console.width()))
    if host and found.fails:
        raise typer.Exit(1)
