"""How many data packets of a direction were marked CE, and their share: of packets on the wire.

A capture with offloads holds super-packets, and feedback counts the packets of the wire.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import overall, vantage
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import KEY

EVERY_PACKET = 0.95
"""Marked share from which marks carry no information (rule L4S403). By eye."""

MIN_PACKETS = 50
"""Packets from which a share of 95 % leaves at least two unmarked."""

MIN_ANSWERS = 10
"""Packets with CWR (one per round trip) below which ECE may be an answer still on its way, as in
L4S201."""


def packets() -> pl.Expr:
    """Marked packets of a row of `directions`: as fed back or as captured, whichever is more.

    Feedback also counts the handshake: 824 of 822 would be absurd.
    """
    fed_back, seen = pl.col("ce_fed_back_best").fill_null(0), pl.col("ce_segments").fill_null(0)
    return pl.min_horizontal(pl.max_horizontal(fed_back, seen), "data_segments")


def share() -> pl.Expr:
    """Part of the data packets on the wire; null without data."""
    return pl.when(pl.col("data_segments") > 0).then(packets() / pl.col("data_segments"))


@kept
def echoed(capture: Capture) -> pl.DataFrame:
    """Directions under classic ECN of which nearly every packet was marked, as ECE shows.

    A receiver repeats ECE until a packet with CWR comes (RFC 3168 section 6.1.3), so one mark of a
    flight makes half of its ACKs carry it. That packet ends the echo unless it is CE, too: ECE goes
    on through as many round trips as packets are marked. Columns: KEY, `first_ce_frame`, `marked`
    and `segments` (packets with ECE, and all that came back) and `share` of the first.
    """
    classic = capture.flows.lazy().filter(pl.col("mode") == "classic").select("source", "flow")
    answered = capture.directions.filter(pl.col("cwr_packets") >= MIN_ANSWERS)
    back = capture.directions.lazy().select(
        "source", "flow", ~pl.col("forward"), marked="ece_acks", segments="packets"
    )
    share = pl.col("marked") / pl.col("segments")
    found = (
        vantage.once(capture, answered.select(*KEY, "first_ce_frame"))
        .lazy()
        .join(classic, on=["source", "flow"], how="semi")
        .join(back, on=KEY)
        .filter((pl.col("segments") >= MIN_PACKETS) & (share >= EVERY_PACKET))
        .with_columns(pl.col("marked", "segments").cast(pl.Int64), share=share)
        .collect()
    )
    whole = overall.directions(capture).filter(pl.col("echo_went_on") >= EVERY_PACKET)
    return found.join(whole, on=KEY, how="semi")
