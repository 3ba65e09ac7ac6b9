"""`l4strace flows`: what flows there are and how ECN went on each."""

from __future__ import annotations

from typing import Annotated

import typer

from l4strace import console, resources
from l4strace.commands import inputs
from l4strace.commands.arguments import Files, Part


def flows(
    *,
    json: Annotated[
        bool, typer.Option("--json", help="Print the flows as JSON, as `diagnose --json` does.")
    ] = False,
    part: Part,
    files: Files,
) -> None:
    """List the flows: transport, ECN mode, codepoints, losses, RTT.

    Prints one line per direction that carries data. --json prints the object of `diagnose --json`
    without findings, because no rule runs. With --from or --to, packets of whole round trips count.

    \b
    Examples:
      l4strace flows run.pcapng
      l4strace flows run.pcapng --json | jq '.flows[] | select(.mode == "accecn")'
    """
    resources.one_thread_of_polars()
    from l4strace import pipeline
    from l4strace.evidence import traffic
    from l4strace.ingest.selection import in_time, of_flows
    from l4strace.ingest.separate import together
    from l4strace.model import Analysis
    from l4strace.output import flow_lines
    from l4strace.output import json as as_json

    selection = part.selection()
    runs = pipeline.unrelated(inputs.read(files, digests=json), selection)
    capture = together([of_flows(in_time(run, selection), selection) for run in runs])
    if json:
        console.emit(as_json.render(capture, Analysis(())))
    elif (shown := traffic(capture)).flows.height:
        console.emit("\n".join(flow_lines.table(flow_lines.rows(shown), console.width())))
    else:
        console.note("no flow found")
