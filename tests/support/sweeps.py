"""Sweeps without captures: runs that need not be read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import l4strace
from l4strace.studies import pool, study, worker
from l4strace.studies.planned import Limits, Options, Planned, Result

ROWS = "aqm,rate,rtt,i,prague throughput,cubic throughput\n" + "".join(
    f"{aqm},{rate},{rtt},{i},{share * rate * 1e4 + i},{(100 - share) * rate * 1e4}\n"
    for aqm, share in (("DualPI2", 9), ("CoDel", 45))
    for rate in (4, 40)
    for rtt in (10, 20)
    for i in range(4)
)
"""A study of two AQMs, two rates and two RTTs, with four repetitions of each."""


def of_a_table(folder: Path) -> l4strace.Study:
    """The study of `ROWS`, kept in `study.sweep`."""
    (folder / "study.csv").write_text(ROWS)
    return l4strace.sweep(folder / "study.csv", output=str(folder / "study.sweep"), workers=1)


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
