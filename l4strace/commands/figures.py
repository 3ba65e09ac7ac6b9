"""`l4strace figures`: the page's charts as SVG files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from l4strace import console, resources
from l4strace.commands import inputs
from l4strace.commands.arguments import Files, Part
from l4strace.commands.destination import ANOTHER, Destination
from l4strace.errors import OutputError, UsageError

if TYPE_CHECKING:
    from l4strace.page.chart import Chart
    from l4strace.pipeline import Judged

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
    page), and prints the names. Captures that show no flow in common and do not overlap in time
    have a folder each: `1-monday/marks-flow-3.svg`.

    \b
    Examples:
      l4strace figures run.pcapng -o charts
      l4strace figures client.pcap server.pcap -o charts --flow 1
    """
    resources.suit(files.paths)
    from l4strace.page.drawing.svg import svg
    from l4strace.pipeline import Asked

    asked = Asked(part.selection())
    folder = Path(output)
    _make(folder)
    runs = inputs.judged(files, asked)
    planned: list[tuple[Chart, Destination]] = []
    # All places first: a file of another stops the command before it writes any.
    for number, run in enumerate(runs, 1):
        own = folder / _name(number, run) if len(runs) > 1 else folder
        _make(own)
        for chart in _charts(run):
            planned.append((chart, Destination(str(own / f"{chart.key}.svg"), _ours, force)))
    for chart, place in planned:
        with place.opened() as file:
            file.write(svg(chart.spec, _title(chart), chart.height).encode())
        console.emit(place.output)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise OutputError(f"{folder}: cannot be made ({error.strerror})") from error
    if folder.is_symlink():
        raise UsageError(f"{folder}: is a link; l4strace does not follow it", ANOTHER)


def _name(number: int, run: Judged) -> str:
    """The folder of one of several runs: two of them may have inputs of one name."""
    from l4strace.ingest.files import stem

    return f"{number}-{stem(run.evidence.sources['path'][0])}"


def _charts(run: Judged) -> list[Chart]:
    from l4strace.page.build import build
    from l4strace.page.case import Case

    return build(Case(run.evidence, run.analysis)).charts


def _title(chart: Chart) -> str:
    _, _, flow = chart.key.partition("-flow-")
    return f"{chart.title}, flow {flow}" if flow else chart.title


def _ours(path: Path) -> bool:
    from l4strace.page.drawing.svg import SIGNATURE

    with path.open("rb") as file:
        return SIGNATURE.encode() in file.read(HEAD_BYTES)
