"""Fields of the tracepoint tcp:tcp_probe, mainline and as L4STeam extends it.

The tracepoint fires when a segment arrives, before it is processed, so its values are those that
the ACK before it left. L4STeam/linux@e0c1334 adds srtt_pace, min_rtt, mrtt_pace, mdev_pace (all in
us), classic_ecn and alpha (in the build's scale): what the detector reads, but not its carry.
"""

from __future__ import annotations

import polars as pl

from l4strace.ingest.logs.samples import (
    INFINITE_SSTHRESH,
    NO_RTT,
    Fields,
    below,
    by_value,
    shaped,
    unsigned,
)

PREFIX = ("ts_ns", "event", "cpu", "family", "probe_src", "probe_dest")
ENDPOINT = r"^\[?(.*?)\]?:(\d+)$"
"""`10.0.1.2:34018` and `[fd00::1]:34018`."""
ADDRESS = r"^(\d+\.\d+\.\d+\.\d+|[\da-fA-F:]*:[\da-fA-F:.]*)$"
"""An address without a port."""


def samples(frame: pl.DataFrame) -> pl.DataFrame:
    """Raw columns of tcp_probe events -> SAMPLES."""
    raw = Fields(frame)
    src, dest = (frame.with_columns(raw.text(name).alias(name))[name] for name in ("src", "dest"))
    srtt, mdev = raw.real("srtt_pace"), raw.real("mdev_pace")
    address = raw.text("skaddr")
    columns: dict[str, pl.Expr | pl.Series] = {
        "ts_ns": pl.col("ts_ns"),
        "event": pl.lit("probe"),
        "sk": pl.coalesce(
            pl.when(address.str.starts_with("0x")).then(address).otherwise("0x" + address),
            "cookie-" + raw.text("sock_cookie"),
        ),
        # Where `trace-cmd report` cannot parse src and dest, it prints the fields that they are of.
        "saddr": pl.coalesce(
            by_value(src, lambda e: e.str.extract(ENDPOINT, 1)),
            raw.text("saddr").str.extract(ADDRESS, 1),
        ),
        "sport": pl.coalesce(
            by_value(src, lambda e: e.str.extract(ENDPOINT, 2)), raw.text("sport")
        ),
        "daddr": pl.coalesce(
            by_value(dest, lambda e: e.str.extract(ENDPOINT, 1)),
            raw.text("daddr").str.extract(ADDRESS, 1),
        ),
        "dport": pl.coalesce(
            by_value(dest, lambda e: e.str.extract(ENDPOINT, 2)), raw.text("dport")
        ),
        "snd_cwnd": raw.integer("snd_cwnd"),
        "ssthresh": below(raw.integer("ssthresh"), INFINITE_SSTHRESH),
        "srtt_us": raw.real("srtt"),
        "min_rtt_us": below(raw.integer("min_rtt"), NO_RTT),
        "snd_una": raw.integer("snd_una"),
        "snd_nxt": raw.integer("snd_nxt"),
        "data_len": raw.integer("data_len"),
        "srtt_pace_us": srtt,
        "mdev_pace_us": mdev,
        "classic_ecn_raw": raw.integer("classic_ecn"),
        "alpha_raw": unsigned(raw.integer("alpha")),
    }
    extra = raw.rest(PREFIX)
    return shaped(frame.select(extra=extra, **columns))
