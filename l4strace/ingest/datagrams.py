"""Datagrams of UDP conversations, one by one, and what they state in clear."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, NamedTuple

import polars as pl

from l4strace.core import _native
from l4strace.evidence import Capture, over_udp
from l4strace.ingest.packets import OF_DATAGRAMS, second_pass


class Span(NamedTuple):
    """A time of one flow on the run's clock, both ends included."""

    flow: int
    start_ns: int
    end_ns: int


def within(capture: Capture, source: int, spans: Sequence[Span], most: int) -> list[pl.DataFrame]:
    """The first ``most`` datagrams of each span, from one pass over the capture.

    `order` counts those of each direction, from 0; `number`, `reported` and `ce` are null where the
    datagram does not state them (see `_native.datagrams`). Raises InputError when the capture
    cannot be read a second time.
    """
    second = second_pass(capture, source)
    off = second.offset_ns
    own = [(flow, start - off, end - off) for flow, start, end in spans]
    ends = _ends(capture, source, {span.flow for span in spans})
    rows = pl.DataFrame(_native.datagrams(second.path, ends, most, own))
    rows = rows.with_columns(pl.col("ts_ns") + off)
    order = pl.int_range(pl.len()).over("forward")
    return [
        rows.filter(pl.col("ts_ns").is_between(start, end), flow=flow)
        .head(most)
        .with_columns(order=order)
        for flow, start, end in spans
    ]


def moments(capture: Capture, source: int, flows: Set[int], frames: Set[int]) -> dict[int, int]:
    """When ``frames`` of these flows passed, on the run's clock. Raises InputError likewise."""
    if not frames:
        return {}
    second = second_pass(capture, source)
    ends = _ends(capture, source, flows)
    rows = pl.DataFrame(_native.datagrams(second.path, ends, len(frames), frames=set(frames)))
    return dict(rows.select("frame", pl.col("ts_ns") + second.offset_ns).iter_rows())


def _ends(capture: Capture, source: int, flows: Set[int]) -> list[Any]:
    here = over_udp(capture).filter(pl.col("flow").is_in(flows), source=source)
    return here.select(*OF_DATAGRAMS).rows()
