"""Where each capture stood, named once, with what cannot be seen from there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from l4strace.evidence import Capture, traffic
from l4strace.schema.vantage import RANKS, distance

PLACES = {
    "sender": "at the sender",
    "middle": "between sender and receiver",
    "receiver": "at the receiver",
}
LIMITS = {
    "middle": "an RTT from here leaves out the part before the capture",
    "receiver": "marks, arrivals, gaps and rates are exact; RTT and queue delay are not seen here",
}
"""What a capture shows at each vantage, for a run without one nearer to the sender."""
WHOLE_CAPTURE_SHARE = 0.9
"""Share of the data bytes from which a place stands for the whole capture."""


def of_direction(flow: Mapping[str, Any], forward: bool) -> str:
    """Vantage of a row of `flows`, as seen from the sender of direction ``forward``."""
    at = flow["vantage"]
    if at in ("client", "server"):
        return "sender" if (at == "client") == forward else "receiver"
    return "middle" if at == "middle" else "unknown"


def of_sources(capture: Capture) -> dict[int, str]:
    """Vantage by source, of the flows that carried nearly all data; absent where it is mixed."""
    known = traffic(capture)
    joined = known.directions.select("source", "flow", "forward", "payload_bytes").join(
        known.flows.select("source", "flow", "vantage"), on=["source", "flow"], how="left"
    )
    carried = joined.group_by("source", distance().alias("rank")).agg(pl.col("payload_bytes").sum())
    part = pl.col("payload_bytes") / pl.col("payload_bytes").sum().over("source")
    known_place = pl.col("rank") != RANKS.index("unknown")
    named = carried.filter((part >= WHOLE_CAPTURE_SHARE) & known_place)
    # Without data each share is that of nothing, and both directions would count.
    named = named.unique("source", keep="none")
    ranks = named.select("source", "rank").iter_rows()
    places = {source: RANKS[rank] for source, rank in ranks}
    alone = "sender" not in places.values()
    return {
        source: PLACES[name] + (f" ({LIMITS[name]})" if alone and name in LIMITS else "")
        for source, name in places.items()
    }
