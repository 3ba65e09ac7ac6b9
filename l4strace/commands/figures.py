"""`l4strace figures`: the page's charts as SVG files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from l4strace import console, threads
from l4strace.commands import inputs
from l4strace.commands.arguments import Files, Part
from l4strace.commands.destination import Destination
from l4strace.errors import OutputError

if TYPE_CHECKING:
    from l4strace.page.chart import Chart

HEAD_BYTES = 512
"""Bytes at the start of a file that hold the signature of charts of l4strace."""


def figures(
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the charts.")
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that l4strace did not write.")
    ] = False,
    part: Part,
    files: Files,
) -> None:  # fmt: skip
    """Write every chart of the page as SVG, for papers and tickets.

    Names each file after its chart and flow, such as `marks-flow-3.svg` (`#marks-flow-3` on the
    page), and prints the names.

    \b
    Examples:
      l4strace figures run.pcapng -o charts
      l4strace figures client.pcap server.pcap -o charts --flow 1
    """
    threads.suit(files.paths)
    from l4strace import pipeline
    from l4strace.page.build import build
    from l4strace.page.case import Case
    from l4strace.page.drawing.svg import svg
    from l4strace.selection import findings_of, in_time, of_flows

    selection = part.selection()
    folder = Path(output)
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{output}: cannot be made ({error.strerror})") from error
    evidence = pipeline.derive(in_time(inputs.read(files), selection))
    shown = of_flows(evidence, selection)
    charts = build(Case(shown, findings_of(pipeline.judge(evidence), shown))).charts
    # All of them first: a file of another stops the command before it writes any.
    places = [Destination(str(folder / f"{chart.key}.svg"), _ours, force) for chart in charts]
    for chart, place in zip(charts, places, strict=True):
        with place.opened() as file:
            file.write(svg(chart.spec, _title(chart), chart.height).encode())
        console.emit(place.output)


def _title(chart: Chart) -> str:
    _, _, flow = chart.key.partition("-flow-")
    return f"{chart.title}, flow {flow}" if flow else chart.title


def _ours(path: Path) -> bool:
    from l4strace.page.drawing.svg import SIGNATURE

    with path.open("rb") as file:
        return SIGNATURE.encode() in file.read(HEAD_BYTES)
