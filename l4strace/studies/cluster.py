"""Runs measured by the workers of a Dask scheduler; how tasks are placed and repeated is Dask's.

Dask's messages are pickles: a scheduler, and whoever sits between, runs code in this process.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from concurrent.futures import CancelledError
from typing import Any

from l4strace.errors import InputError, UsageError, reason
from l4strace.studies import pool
from l4strace.studies.places import CLUSTER
from l4strace.studies.planned import Limits, Options, Planned, failed
from l4strace.studies.pool import Pages, Results

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
        # What Dask logs about a connection stands in the one line of the error.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            client = distributed.Client(address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"--scheduler {address}: no answer ({reason(error)})") from error
        try:
            with client:
                yield from _results(distributed, client, todo, options, limits, page)
        except (OSError, CancelledError, RuntimeError) as error:
            raise InputError(
                f"--scheduler {address}: connection lost ({reason(error)})",
                "The same command goes on where this one stopped.",
            ) from error

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
        # A future that was cancelled raises: the scheduler is gone.
        error = future.exception()
        if error is None:
            yield future.result()
        else:
            yield failed(planned, "died", f"its worker died ({reason(error)})")
        future.release()
        if (following := submit()) is not None:
            done.add(following)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        raise UsageError("--scheduler needs Dask, which is not installed", CLUSTER) from error
    return distributed
