"""Datagrams of one UDP conversation, as rows of `packets`: what only TCP has is null in them."""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.evidence import Capture, over_udp
from l4strace.ingest.packets import Stretch, second_pass
from l4strace.schema import TABLES


def of_flow(
    capture: Capture, source: int, flow: int, span_ns: tuple[int, int], most: int
) -> pl.DataFrame:
    """The first ``most`` datagrams of a flow within a time, both ends included.

    `seq` counts the payload of each direction in the order of its datagrams, from 0.
    Raises InputError when the capture cannot be read a second time.
    """
    second = second_pass(capture, source)
    here = over_udp(capture).filter(source=source, flow=flow)
    ends = here.select("flow", "client", "client_port", "server", "server_port").rows()
    _, own_ns = second.own(Stretch(span_ns=span_ns))
    rows = pl.DataFrame(_native.datagrams(second.path, ends, most, own_ns))
    sent = pl.col("bytes").cast(pl.Int64)
    shown = rows.head(most).with_columns(
        pl.col("ts_ns") + second.offset_ns,
        source=pl.lit(source),
        payload_len="bytes",
        seq=(sent.cum_sum() - sent).over("forward"),
        tcp_flags=pl.lit(0),
    )
    return TABLES["packets"].conform(shown.drop("bytes"))
