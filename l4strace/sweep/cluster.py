"""Runs measured by the workers of a Dask scheduler; how tasks are placed and repeated is Dask's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from l4strace.errors import UsageError
from l4strace.sweep import pool
from l4strace.sweep.planned import Limits, Options, Planned, failed
from l4strace.sweep.pool import Pages, Results

EXTRA = "Install it with: pip install 'l4strace[cluster]'"
CONNECT_S = 30
RETRIES = 2
"""A run whose worker went away is done by another one."""
AHEAD = 4
"""Runs per core that wait at the scheduler: results are kept as they come, tasks are small."""


def on_cluster(address: str) -> pool.Measure:
    """`measure_all` on the scheduler at ``address``, as a sweep calls it.

    The workers must have the same version of l4strace, and see the files under the same names.
    Raises UsageError without Dask and for a scheduler that does not answer.
    """
    distributed = _distributed()

    def measure(todo: Sequence[Planned], options: Options, limits: Limits, page: Pages) -> Results:
        if not todo:
            return
        try:
            client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            why = str(error).splitlines()[0]
            raise UsageError(f"--scheduler {address}: no answer ({why})") from error
        with client:
            yield from _results(distributed, client, todo, options, limits, page)

    return measure


def _results(
    distributed: Any,
    client: Any,
    todo: Sequence[Planned],
    options: Options,
    limits: Limits,
    page: Pages,
) -> Results:
    waiting = iter(todo)
    runs: dict[str, Planned] = {}

    def submit() -> Any:
        planned = next(waiting, None)
        if planned is None:
            return None
        future = client.submit(
            pool.one, planned, options, limits, page(planned), pure=False, retries=RETRIES
        )
        runs[future.key] = planned
        return future

    window = max(AHEAD, AHEAD * sum(client.ncores().values()))
    first = [future for _ in range(window) if (future := submit()) is not None]
    done = distributed.as_completed(first, loop=client.loop)
    for future in done:
        planned = runs.pop(future.key)
        error = future.exception()
        if error is None:
            yield future.result()
        else:
            why = str(error).splitlines()[0] if str(error) else type(error).__name__
            yield failed(planned, "died", f"its worker died ({why})")
        future.release()
        if (following := submit()) is not None:
            done.add(following)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise UsageError("--scheduler needs Dask, which is not installed", EXTRA) from error
    return distributed
