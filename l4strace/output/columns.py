"""Lines of cells as a table of text: the first line has the heads."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from l4strace.console import one_line

Line = tuple[str, ...]


def aligned(lines: Sequence[Line], numbers: Container[str]) -> Iterator[str]:
    """Each line with its columns aligned, those whose head is in ``numbers`` at the right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (
            cell.rjust(width) if head in numbers else cell.ljust(width)
            for head, cell, width in zip(lines[0], line, widths, strict=True)
        )
        yield one_line(" ".join(cells).rstrip())


def fitting(variants: Sequence[Sequence[Line]], numbers: Container[str], width: int) -> list[str]:
    """The first of ``variants`` that fits; else the first, addresses on a line of their own."""
    for lines in variants:
        flat = list(aligned(lines, numbers))
        if max(map(len, flat)) <= width:
            return flat
    lines = variants[0]
    head, *rest = aligned([line[3:] for line in lines], numbers)
    found = [f"      {head}"]
    for line, row in zip(lines[1:], rest, strict=True):
        found += [one_line(f"{line[0]:<5} {line[1]} > {line[2]}"), f"      {row}"]
    return found
