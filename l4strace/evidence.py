"""The two values that the stages hand on: what the inputs hold, and what follows from it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import polars as pl

Row = dict[str, Any]
"""A row of a table, by column."""


def _without_rows(name: str) -> Callable[[], pl.DataFrame]:
    def table() -> pl.DataFrame:
        from l4strace.schema import TABLES

        return TABLES[name].empty()

    return table


@dataclass(frozen=True)
class Capture:
    """Tables read from the inputs; each is declared under the same name in `l4strace.schema`.

    Here `flows`, `directions` and `rounds` hold the flows whose feedback is read, of any transport:
    these are what derived tables and rules measure. `udp_flows` and `udp_directions` have the rows
    of those over UDP whose feedback is not, and `udp_rounds` what directions over UDP without rows
    in `rounds` sent over time, in those columns that it fills. `udp_kernel` holds what logs of
    user-space senders say. `traffic` puts all together, and `over_udp` has those of UDP.
    """

    sources: pl.DataFrame
    flows: pl.DataFrame
    directions: pl.DataFrame
    rounds: pl.DataFrame
    paths: pl.DataFrame
    kernel: pl.DataFrame
    stats: pl.DataFrame
    qdiscs: pl.DataFrame
    udp_flows: pl.DataFrame = field(default_factory=_without_rows("flows"), kw_only=True)
    udp_round_trips: pl.DataFrame = field(
        default_factory=_without_rows("udp_round_trips"), kw_only=True
    )
    udp_directions: pl.DataFrame = field(default_factory=_without_rows("directions"), kw_only=True)
    udp_kernel: pl.DataFrame = field(default_factory=_without_rows("kernel"), kw_only=True)
    udp_rounds: pl.DataFrame = field(default_factory=_without_rows("rounds"), kw_only=True)
    host_files: tuple[dict[str, Any], ...] = field(default=())
    """Parsed `*.host.json` files, each with its `path`; the table `hosts` has their facts."""
    aggregates: dict[str, Any] = field(default_factory=dict)
    """Map output of bpftrace and the like: counters that have no time, by name."""
    broken: tuple[str, ...] = ()
    """Derived tables that odd data broke, one sentence each."""


@dataclass(frozen=True)
class Evidence(Capture):
    """The capture plus the tables derived from it: all that a rule may look at.

    This is the list of derived tables. Each is declared under its name in
    `l4strace.schema.evidence`; `l4strace.pipeline.MAKERS` names what makes it of the capture, and
    `fallback` follows from the others (`l4strace.fallback.table`).
    """

    cuts: pl.DataFrame = field(kw_only=True)
    detector: pl.DataFrame = field(kw_only=True)
    laws: pl.DataFrame = field(kw_only=True)
    builds: pl.DataFrame = field(kw_only=True)
    bottlenecks: pl.DataFrame = field(kw_only=True)
    signs: pl.DataFrame = field(kw_only=True)
    coexistence: pl.DataFrame = field(kw_only=True)
    phases: pl.DataFrame = field(kw_only=True)
    spikes: pl.DataFrame = field(kw_only=True)
    noise: pl.DataFrame = field(kw_only=True)
    pressed: pl.DataFrame = field(kw_only=True)
    hosts: pl.DataFrame = field(kw_only=True)
    fallback: pl.DataFrame = field(kw_only=True)


DERIVED = tuple(f.name for f in fields(Evidence) if f.name not in Capture.__dataclass_fields__)
"""Names of the derived tables."""

C = TypeVar("C", bound=Capture)
T = TypeVar("T")


def kept(function: Callable[[C], T]) -> Callable[[C], T]:
    """Keeps what ``function(capture)`` returns beside the capture: many ask for the same.

    The capture itself is not kept: it would hold itself, and with it all that is kept beside it.
    """
    name = _place(function)

    @wraps(function)
    def answer(capture: C) -> T:
        known = vars(capture)
        if name not in known:
            found = function(capture)
            if found is not capture:
                known[name] = found
            return found
        answered: T = known[name]
        return answered

    return answer


def hand_on(function: Callable[..., object], before: Capture, after: Capture) -> None:
    """``after`` keeps what ``before`` kept of ``function``, which follows from what both have."""
    name = _place(function)
    if name in vars(before):
        vars(after)[name] = vars(before)[name]


def _place(function: Callable[..., object]) -> str:
    return f"{function.__module__}.{function.__qualname__}"


@kept
def traffic(capture: C) -> C:
    """``capture`` with all transports in `flows`, `directions` and `kernel`, to be shown.

    A sender over UDP may have a log although its feedback is read.
    """
    if capture.udp_flows.is_empty() and capture.udp_kernel.is_empty():
        return capture
    import polars as pl

    flows = pl.concat([capture.flows, capture.udp_flows])
    directions = pl.concat([capture.directions, capture.udp_directions])
    return replace(
        capture,
        flows=flows.sort("source", "flow", maintain_order=True),
        directions=in_order(directions),
        udp_flows=capture.udp_flows.clear(),
        udp_directions=capture.udp_directions.clear(),
        kernel=pl.concat([capture.kernel, capture.udp_kernel]),
        udp_kernel=capture.udp_kernel.clear(),
        udp_rounds=capture.udp_rounds.clear(),
    )


def in_order(directions: pl.DataFrame) -> pl.DataFrame:
    """Rows by input and flow, the client's direction first."""
    return directions.sort(
        "source", "flow", "forward", descending=[False, False, True], maintain_order=True
    )


@kept
def over_udp(capture: Capture) -> pl.DataFrame:
    """Rows of `flows` over UDP, whether their feedback is read or not."""
    import polars as pl

    return traffic(capture).flows.filter(pl.col("transport").ne("tcp"))
