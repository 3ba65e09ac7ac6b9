"""tracefs kprobe events with named fields: `sk=… sport=… snd_cwnd=… classic_ecn=…`.

Field names are those of struct tcp_sock and struct prague, values as stored there: srtt_us << 3,
mdev_us << 2, the pace filters with their own shifts, alpha and classic_ecn in the build's scale.
"""

from __future__ import annotations

import polars as pl

from l4strace.ingest.logs.samples import (
    EVENTS,
    INFINITE_SSTHRESH,
    NO_RTT,
    Fields,
    below,
    shaped,
    unsigned,
)
from l4strace.prague.constants import GAIN_SHIFT

PREFIX = ("ts_ns", "event", "cpu")
"""Columns that a line's own prefix gives."""


def event_name(event: pl.Expr) -> pl.Expr:
    """`p_prague_state_0`, `prague_state` and `state` are one event."""
    bare = event.str.replace(r"^[pr]_(.+)_\d+$", "$1").str.replace(
        r"\.(isra|constprop|part)\..*$", ""
    )
    return bare.replace(EVENTS)


def samples(frame: pl.DataFrame) -> pl.DataFrame:
    """Raw columns of one kind of event -> SAMPLES."""
    raw = Fields(frame)
    port_be = unsigned(raw.integer("dport_be"), 16)
    upscaled = unsigned(raw.integer("upscaled_alpha"))
    srtt_raw, srtt_shift = raw.integer("srtt_pace_us"), raw.integer("g_srtt_shift")
    mdev_raw, mdev_shift = raw.integer("mdev_pace_us"), raw.integer("g_mdev_shift")
    pacing = raw.integer("pacing_rate")
    rtt, flags = raw.integer("rs_rtt"), raw.integer("prague_flags")
    columns = {
        "ts_ns": pl.col("ts_ns"),
        "event": pl.col("event"),
        "sk": raw.text("sk", "sock", "skaddr"),
        "saddr": raw.text("saddr"),
        "sport": raw.integer("sport"),
        "daddr": raw.text("daddr"),
        "dport": pl.coalesce(
            raw.integer("dport").cast(pl.UInt16, strict=False),
            (port_be % 256) * 256 + port_be // 256,
        ),
        "cc": raw.text("cc"),
        "snd_cwnd": raw.integer("snd_cwnd"),
        "ssthresh": below(raw.integer("snd_ssthresh", "ssthresh"), INFINITE_SSTHRESH),
        "srtt_us": raw.integer("srtt_us") / 8,
        "mdev_us": raw.integer("mdev_us") / 4,
        "min_rtt_us": below(raw.integer("min_rtt", "min_rtt_us"), NO_RTT),
        "snd_una": raw.integer("snd_una"),
        "snd_nxt": raw.integer("snd_nxt"),
        "data_len": raw.integer("data_len"),
        "delivered": raw.integer("delivered"),
        "delivered_ce": raw.integer("delivered_ce"),
        "packets_out": raw.integer("packets_out"),
        "upscaled_alpha": upscaled,
        "alpha_raw": pl.coalesce(
            upscaled // (1 << GAIN_SHIFT), unsigned(raw.integer("tp_alpha", "alpha"))
        ),
        "classic_ecn_raw": raw.integer("classic_ecn"),
        "frac_cwnd": unsigned(raw.integer("frac_cwnd")),
        "srtt_pace_raw": unsigned(srtt_raw),
        "g_srtt_shift": srtt_shift,
        "srtt_pace_us": srtt_raw / pl.lit(2.0).pow(srtt_shift),
        "mdev_pace_raw": unsigned(mdev_raw),
        "g_mdev_shift": mdev_shift,
        "mdev_pace_us": mdev_raw / pl.lit(2.0).pow(mdev_shift),
        "rest_depth_us": raw.integer("rest_depth_us"),
        "rest_mdev_us": raw.integer("rest_mdev_us"),
        "old_delivered": raw.integer("old_delivered"),
        "old_delivered_ce": raw.integer("old_delivered_ce"),
        "round": raw.integer("round"),
        "saw_ce": pl.coalesce(raw.integer("saw_ce"), flags % 2).cast(pl.Boolean),
        "ca_state": pl.coalesce(raw.integer("ca_state_byte") % 32, raw.integer("ca_state")),
        "ecn_flags": raw.integer("ecn_flags"),
        "pacing_rate_bps": below(pacing, 1 << 62).clip(-1).replace(-1, None) * 8.0,
        "rs_acked": raw.integer("rs_acked"),
        "rs_rtt_us": pl.when(rtt >= 0).then(rtt),
        "rs_ece": raw.integer("rs_ece"),
        "rs_losses": raw.integer("rs_losses"),
        "alpha_used_raw": unsigned(raw.integer("alpha_out", "alpha_used", "ret", "retval")),
    }
    extra = raw.rest(PREFIX)
    return shaped(frame.select(extra=extra, **columns))
