"""`l4strace compare`: do two sets of runs differ, and where."""

from __future__ import annotations

import os
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from l4strace import console
from l4strace.errors import UsageError

if TYPE_CHECKING:
    from l4strace.comparison.overlay import Side
    from l4strace.comparison.sides import Sides
    from l4strace.studies.pool import Measure


class Correction(str, Enum):
    """How probabilities are corrected for the number of tests."""

    holm = "holm"
    bh = "bh"


def compare(
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="A [B]", help="Two sweeps, folders of runs or captures; or one sweep with --by."
        ),
    ],
    by: Annotated[
        str, typer.Option("--by", metavar="PARAMETER", help="Compare two values of this parameter.")
    ] = "",
    of: Annotated[
        str, typer.Option("--of", metavar="A,B",
                          help="The two values to compare; a unique part of each is enough.")
    ] = "",
    where: Annotated[
        list[str] | None,
        typer.Option("--where", metavar="CONDITION",
                     help="Only such runs: rate=4,8  rtt=4..32  aqm!=CoDel  rate>=50."),
    ] = None,
    pair_by: Annotated[
        list[str] | None,
        typer.Option("--pair-by", metavar="PARAMETER",
                     help="Pair runs by this parameter and no other; may be repeated."),
    ] = None,
    ignore_parameter: Annotated[
        list[str] | None,
        typer.Option("--ignore-parameter", metavar="PARAMETER",
                     help="Do not pair runs by this parameter; may be repeated."),
    ] = None,
    at_least: Annotated[
        list[str] | None,
        typer.Option("--at-least", metavar="[MEASURE=]EFFECT",
                     help="Smallest effect of interest, such as 5% or l4s_queue_delay=2ms."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option("--measure", "-m", metavar="MEASURE",
                     help="Compare only this measure, or rule by its code; may be repeated."),
    ] = None,
    correction: Annotated[
        Correction, typer.Option("--correction",
                                 help="holm: no false difference; bh: few of those reported.")
    ] = Correction.holm,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="PAGE",
                          help="Also write a page with heat maps to this file.")
    ] = "",
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite a file that l4strace did not write.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print every cell as JSON.")] = False,
) -> None:  # fmt: skip
    """Compare two sets of runs: what differs, where, by how much.

    Runs are paired by the parameters that they share. Each cell has the difference of the means
    with an interval (95 %), Hedges' g, and a permutation test whose probability is corrected for
    the number of cells and measures; differences that need more runs to show are listed. Captures
    and folders that are not a sweep are measured first. Needs scipy and statsmodels:
    pip install 'l4strace[compare]'.

    \b
    Examples:
      l4strace compare study --by kernel --of unpatched,patched --where aqm=CoDel
      l4strace compare before.sweep after.sweep -m l4s_share -m L4S301
    """
    from l4strace.commands.page_file import PageFile, ours
    from l4strace.comparison import libraries

    libraries.check()
    from l4strace.comparison import comparison, document, text
    from l4strace.output.json import dumps

    target = PageFile(output, ours, force) if output else None
    sides = _sides(sources, by, of, where or [])
    pairing = comparison.Pairing(tuple(pair_by or ()), tuple(ignore_parameter or ()))
    result = comparison.compare(
        sides, measure or [], correction.value, pairing=pairing, at_least=at_least or []
    )
    if target is not None:
        from l4strace.comparison import page

        with target.opened() as file:
            file.write(page.render(result, _overlaid(sources)).encode("utf-8", "replace"))
    if target is None or not target.to_stdout:
        console.emit(dumps(document.document(result)) if json else text.render(result))


def _sides(sources: list[str], by: str, of: str, conditions: list[str]) -> Sides:
    from dataclasses import replace

    from l4strace.comparison import sides

    if by:
        if len(sources) != 1 or not of:
            raise UsageError("--by takes one sweep and --of with two values", sides.BY)
        tables = sides.where(sides.load(sources[0], _on_cores()), conditions)
        return sides.of_parameter(tables, by, [value.strip() for value in of.split(",")])
    if len(sources) != 2:
        raise UsageError("compare takes two places, or one with --by and --of", sides.BY)
    both = sides.of_places(sources[0], sources[1], _on_cores())
    return replace(
        both,
        before=sides.where(both.before, conditions),
        after=sides.where(both.after, conditions),
    )


def _overlaid(sources: list[str]) -> tuple[Side, Side] | None:
    """The runs of two places over each other; null for the sides of one sweep."""
    from l4strace.comparison import overlay

    return overlay.sides(*sources) if len(sources) == 2 else None


def _on_cores() -> Measure:
    from l4strace.studies import pool

    return pool.on_cores(os.cpu_count() or 1)
