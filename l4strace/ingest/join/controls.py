"""The name of the congestion control of each flow direction: from logs, else from host files.

A log names it for each sample of a socket; a host file lists open sockets by their ports only, so
that two flows with the same ports stay without a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import polars as pl

from l4strace.evidence import Capture
from l4strace.ingest.untrusted import mapping, text, whole
from l4strace.schema.keys import DIRECTION

PORTS = ["sport", "dport"]
MOST_TEXT = 16
"""TCP_CA_NAME_MAX of the kernel."""


def named(capture: Capture) -> Capture:
    """``capture`` with `directions.cc`, of every transport."""
    logs = [log for log in (capture.kernel, capture.udp_kernel) if log.height]
    if not logs and not capture.host_files:
        return capture
    known = pl.concat([*map(_of_logs, logs), _of_hosts(capture)])
    known = known.unique(DIRECTION, keep="first", maintain_order=True)
    over_tcp, over_udp = (
        table.drop("cc")
        .join(known, on=DIRECTION, how="left", maintain_order="left")
        .select(table.columns)
        for table in (capture.directions, capture.udp_directions)
    )
    return replace(capture, directions=over_tcp, udp_directions=over_udp)


def _of_logs(kernel: pl.DataFrame) -> pl.DataFrame:
    """In the order in which a socket used them, as `cubic, prague`."""
    samples = kernel.filter(pl.col("cc").is_not_null() & pl.col("forward").is_not_null())
    samples = samples.filter(pl.col("flow").is_not_null())
    return samples.group_by(DIRECTION, maintain_order=True).agg(
        pl.col("cc").unique(maintain_order=True).str.join(", ")
    )


def _of_hosts(capture: Capture) -> pl.DataFrame:
    """By the ports of sockets, where one flow and one name has them."""
    rows = [row for host in capture.host_files for row in _sockets(host)]
    listed = pl.DataFrame(
        rows, {"sport": pl.UInt16, "dport": pl.UInt16, "cc": pl.String}, orient="row"
    )
    one = pl.len() == 1
    listed = listed.unique(maintain_order=True).filter(one.over(PORTS))
    ends = capture.flows.unique("flow", maintain_order=True)
    ways = [
        ends.select("flow", forward=pl.lit(forward), sport=local, dport=remote)
        for forward, local, remote in (
            (True, "client_port", "server_port"),
            (False, "server_port", "client_port"),
        )
    ]
    sending = pl.concat(ways).filter(one.over(PORTS))
    return sending.join(listed, on=PORTS).select(*DIRECTION, "cc")


def _sockets(host: Mapping[str, Any]) -> Iterator[tuple[int, int, str]]:
    rows = host.get("sockets")
    for row in map(mapping, rows if isinstance(rows, list) else ()):
        ports = (whole(row.get("sport"), 1, 65535), whole(row.get("dport"), 1, 65535))
        name = text(row.get("cc"), MOST_TEXT)
        if ports[0] is not None and ports[1] is not None and name:
            yield ports[0], ports[1], name
