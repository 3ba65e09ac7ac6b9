"""A whole sweep: find the runs, measure those that changed, keep what they give."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from string import ascii_letters, digits

import polars as pl

from l4strace.studies import parameters, pool
from l4strace.studies.dataset import Dataset, parameters_of
from l4strace.studies.parameters import PREFIX
from l4strace.studies.planned import Done, Limits, Options, Planned, Result, failed
from l4strace.studies.sources import discover
from l4strace.studies.store import Store

PAGE = "index.html"
PAGES = "pages"
PLAIN = frozenset(ascii_letters + digits + "._-")
"""Characters that a page's name shares with that of its run."""
MOST_NAME = 200
"""Characters of the name of a page: file systems take 255."""
FLUSH_S = 3.0
FLUSH_RUNS = 64
"""Time and number of results kept in memory: a killed sweep repeats these runs."""

Progress = Callable[[int, int], None]
"""Called with runs done and runs to do."""


@dataclass(frozen=True)
class Order:
    """The work of one sweep."""

    sources: tuple[str, ...]
    results: str
    how: discover.How = field(default_factory=discover.How)
    options: Options = field(default_factory=Options)
    limits: Limits = field(default_factory=Limits)
    pages: bool = False
    """Write the page of each run."""
    page: bool = True
    """Write the page of the sweep."""
    retry: bool = False
    """Do runs again that failed before."""


def sweep(order: Order, measure: pool.Measure, progress: Progress = lambda _, __: None) -> Done:
    """Runs the sweep; interrupted at any point, the next call goes on.

    Raises InputError and UsageError for sources and places that cannot be used. A run that cannot
    be measured is a row.
    """
    found = discover.discover(order.sources, order.how, order.options)
    dataset = Dataset(order.results)
    dataset.begin({"sources": list(order.sources)})
    dataset.tidy()
    for tables in found.tables:
        dataset.add_tables(tables)
    kept = dataset.done(retry=order.retry)
    fresh = [one for one in found.planned if kept.get(one.name) != one.fingerprint or one.error]
    dataset.add(failed(one, "failed", one.error) for one in fresh if one.error)
    todo = [one for one in fresh if not one.error]
    measured = _measured(dataset, todo, order, measure, progress)
    tables = dataset.finish(_parameters(found))
    if order.page:
        _write_page(order, tables, found.notes)
    return Done(tables, measured, len(found.planned) - len(fresh), tuple(found.notes))


def _measured(
    dataset: Dataset,
    todo: Sequence[Planned],
    order: Order,
    measure: pool.Measure,
    progress: Progress,
) -> int:
    """Measures ``todo`` and keeps the results in batches, also when interrupted.

    Returns how many did not fail.
    """
    batch: list[Result] = []
    since = time.monotonic()
    measured = 0
    progress(0, len(todo))
    with closing(measure(todo, order.options, order.limits, page_of(order))) as results:
        try:
            for number, result in enumerate(results, 1):
                batch.append(result)
                measured += result.run["status"] == "ok"
                progress(number, len(todo))
                if len(batch) >= FLUSH_RUNS or time.monotonic() - since >= FLUSH_S:
                    dataset.add(batch)
                    batch, since = [], time.monotonic()
        finally:
            dataset.add(batch)
    return measured


def _write_page(order: Order, tables: dict[str, pl.DataFrame], notes: Sequence[str]) -> None:
    from l4strace.studies import page

    store = Store(order.results)
    here = set(store.names(PAGES))
    names = {run: page_name(run) for run in tables["runs"]["run"]}
    linked = {run: path for run, path in names.items() if path.removeprefix(f"{PAGES}/") in here}
    title = ", ".join(discover.stem(source) for source in order.sources)
    text = page.render(tables, title, linked, notes)
    store.write(PAGE, text.encode("utf-8", "replace"))


def page_of(order: Order) -> pool.Pages:
    """Where the page of a run goes: `pages/NAME.html` in the results."""
    if not order.pages:
        return lambda _: None
    return lambda planned: (order.results, page_name(planned.name))


def page_name(run: str) -> str:
    """Path of a run's page below the results: no two runs have one, and none leads out of them."""
    name = run.encode("utf-8", "surrogateescape")
    kept = "".join(chr(c) if chr(c) in PLAIN else f"%{c:02x}" for c in name)
    if kept.startswith(".") or len(kept) > MOST_NAME:
        kept = f"{kept.lstrip('.')[:MOST_NAME]}~{hashlib.sha256(name).hexdigest()[:16]}"
    return f"{PAGES}/{kept}.html"


def _parameters(found: discover.Found) -> pl.DataFrame:
    """One row per run, with the parameters of planned runs and of tables."""
    planned = found.planned
    frames = [parameters.frame([one.name for one in planned], [one.parameters for one in planned])]
    for tables in found.tables:
        runs = tables["runs"]
        frames.append(runs.select("run", *(PREFIX + name for name in parameters_of(runs))))
    return pl.concat([frame for frame in frames if frame.height], how="diagonal_relaxed")
