"""Sweeps without captures: runs that need not be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from l4strace.studies import pool, study, worker
from l4strace.studies.planned import Limits, Options, Planned, Result


def runs(folder: Path, count: int = 3) -> Path:
    """A folder of ``count`` runs, called `r0`, `r1` and so on."""
    folder.mkdir()
    for number in range(count):
        (folder / f"r{number}.pcap").write_bytes(b"")
    return folder


def order(source: Path, results: Path, pages: bool = False) -> study.Order:
    """A sweep of one source."""
    return study.Order((str(source),), str(results), pages=pages)


def invented(
    todo: Sequence[Planned], options: Options, limits: Limits, page: pool.Pages
) -> pool.Results:
    """A number per run, which is that of its name."""
    for planned in todo:
        number = int(planned.name.removeprefix("r"))
        run = {"run": planned.name, "fingerprint": planned.fingerprint, "status": "ok"}
        measure = {"run": planned.name, "name": "l4s_share", "value": number / 100}
        yield Result(run, measures=[measure])


def failing(
    todo: Sequence[Planned], options: Options, limits: Limits, page: pool.Pages
) -> pool.Results:
    """What a worker answers, in this process."""
    for planned in todo:
        yield worker.answer(planned, options, page(planned))
