"""`l4strace figures`: the page's charts as SVG files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from l4strace import console, resources
from l4strace.commands import inputs, page_file, study_folder
from l4strace.commands.arguments import Files, Part
from l4strace.commands.destination import ANOTHER, Destination
from l4strace.errors import OutputError, UsageError

if TYPE_CHECKING:
    from l4strace.page.chart import Chart
    from l4strace.pipeline import Judged
    from l4strace.studies.cells import Tables


class Maps(NamedTuple):
    """Heat maps of a study."""

    measure: Annotated[
        list[str] | None,
        typer.Option(
            "--measure",
            "-m",
            metavar="MEASURE",
            help="Of a sweep: a heat map of this measure or rule, or queue_delay_cdf; repeatable.",
        ),
    ] = None
    columns: Annotated[
        str, typer.Option("--columns", metavar="PARAMETER", help="Of a sweep: the columns.")
    ] = ""
    rows: Annotated[
        str, typer.Option("--rows", metavar="PARAMETER", help="Of a sweep: the rows.")
    ] = ""
    each: Annotated[
        list[str] | None,
        typer.Option(
            "--each", metavar="PARAMETER", help="Of a sweep: a map, or a curve, for each value."
        ),
    ] = None
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="CONDITION", help="Of a sweep: only such runs: rate=4,8."),
    ] = None
    statistic: Annotated[
        str,
        typer.Option(
            "--statistic",
            metavar="NAME",
            help="Of a sweep: mean, median, deviation, lowest or highest.",
        ),
    ] = "mean"
    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            metavar="NAME=TEXT",
            help="Of a sweep: how the figure calls a parameter, or its title.",
        ),
    ] = None

    @property
    def names(self) -> dict[str, str]:
        """Names in the figure. Raises UsageError."""
        found = {}
        for text in self.label or ():
            name, equals, shown = text.partition("=")
            if not equals:
                raise UsageError(f"--label {text!r} has no =", "Example: --label rate='Mbit/s'.")
            found[name] = shown
        return found


def figures(
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FOLDER", help="Folder for the charts.")
    ],
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files that l4strace did not write.")
    ] = False,
    packets: Annotated[
        bool,
        typer.Option("--packets", help="Write the packet chart of each chosen flow, as HTML."),
    ] = False,
    maps: Maps,
    part: Part,
    files: Files,
) -> None:  # fmt: skip
    """Write every chart of the page as SVG, for papers and tickets.

    Of the results of a sweep it writes heat maps: one file per measure, with scale, units and
    numbers of runs.

    Names each file after its chart and flow, such as `marks-flow-3.svg` (`#marks-flow-3` on the
    page), and prints the names. Captures that show no flow in common and do not overlap in time
    have a folder each: `1-monday/marks-flow-3.svg`.

    With --packets it writes time and sequence of every packet instead, a page for each flow that
    --flow names (else of the largest), from --from to --to: `packets-flow-3.html`.

    \b
    Examples:
      l4strace figures run.pcapng -o charts --packets --flow 3 --from 12.5 --to 13
      l4strace figures results -o paper -m l4s_share --columns rate --each aqm
    """
    if (tables := study_folder.tables(files.paths)) is not None:
        _heat_maps(tables, maps, output, force)
        return
    resources.one_thread_of_polars()
    from l4strace.commands import packet_pages
    from l4strace.pipeline import Asked

    asked = Asked(part.selection(), digests=False, judge=not packets)
    folder = Path(output)
    _make(folder)
    runs = inputs.judged(files, asked)
    planned: list[tuple[Callable[[], bytes], Destination]] = []
    # All places first: a file of another stops the command before it writes any.
    for number, run in enumerate(runs, 1):
        own = folder / _name(number, run) if len(runs) > 1 else folder
        _make(own)
        drawn = packet_pages.pages(run, asked.selection) if packets else _charts(run)
        for name, draw in drawn:
            planned.append((draw, Destination(str(own / name), _ours, force)))
    for draw, place in planned:
        with place.opened() as file:
            file.write(draw())
        console.emit(place.output)


def _heat_maps(tables: Tables, maps: Maps, output: str, force: bool) -> None:
    """One SVG a measure; by default of all that at least half of the runs have."""
    from l4strace.comparison import sides
    from l4strace.studies import cells

    tables = sides.where(tables, maps.where or [])
    folder = Path(output)
    _make(folder)
    planned = []
    for name in maps.measure or cells.usual(tables):
        text = _of_study(tables, name, maps)
        place = f"{name.replace(':', '-').replace('/', '-')}.svg"
        planned.append((text, Destination(str(folder / place), _ours, force)))
    for text, target in planned:
        with target.opened() as file:
            file.write(text.encode("utf-8", "replace"))
        console.emit(target.output)


def _of_study(tables: Tables, name: str, maps: Maps) -> str:
    """A heat map, or the curves of `queue_delay_cdf`, as SVG."""
    from l4strace.page.drawing.svg import svg
    from l4strace.studies import delay_figure, figure

    each = tuple(maps.each or ())
    if name == delay_figure.NAME:
        curves = delay_figure.drawn(tables, each)
        return svg(curves.spec, maps.names.get("title", delay_figure.TITLE), curves.height)
    asked = figure.Asked(name, maps.columns, maps.rows, each, maps.statistic, maps.names)
    return figure.svg(figure.figure(tables, asked))


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


def _charts(run: Judged) -> list[tuple[str, Callable[[], bytes]]]:
    from l4strace.page.build import build
    from l4strace.page.case import Case

    charts = build(Case(run.evidence, run.analysis)).charts
    return [(f"{chart.key}.svg", partial(_drawn, chart)) for chart in charts]


def _drawn(chart: Chart) -> bytes:
    from l4strace.page.drawing.svg import svg

    return svg(chart.spec, _title(chart), chart.height).encode()


def _title(chart: Chart) -> str:
    _, _, flow = chart.key.partition("-flow-")
    return f"{chart.title}, flow {flow}" if flow else chart.title


def _ours(path: Path) -> bool:
    from l4strace.page import packet_page
    from l4strace.page.drawing import svg

    start = page_file.head(path)
    return any(sign.encode() in start for sign in (svg.SIGNATURE, packet_page.SIGNATURE))
