"""Which flow directions travel the same path, and what they met there at the same time.

A capture does not show the path. Two directions count as one path when the same input saw them
travel between the same two networks, /24 or /64. This rests on addressing habits: a /24 is the
longest IPv4 prefix that is commonly routed between networks (RFC 7454 section 6.1.3), a /64 is one
IPv6 subnet (RFC 4291 section 2.5.1), test beds give every flow its own address in one subnet, and
hosts behind one access link differ in the last octet. It is wrong where a /24 is split over several
sites or load is balanced per flow (two paths taken for one), and where one link serves several
networks, as at a provider's edge (one path taken for two).
"""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network

import polars as pl

from l4strace.core import _native
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import KEY

MIN_STEADY, MIN_STEADY_PACKETS = _native.MIN_STEADY, _native.MIN_STEADY_PACKETS
MIN_ROUNDS, MIN_ACKED_PACKETS = _native.MIN_ROUNDS, _native.MIN_ACKED_PACKETS
FRAME_BYTES = _native.FRAME_BYTES
"""Rounds and packets that show something, and the size of a full packet: `measure/mod.rs`."""

PREFIX = {4: 24, 6: 64}
"""Bits of an address that name its network, by IP version."""

RATE = pl.col("rate_bps")
"""Rate of the path of a row, as `rates` gives it."""


@kept
def directions(capture: Capture) -> pl.DataFrame:
    """Directions with a `path` name, the `sender`'s address and what their data packets carried.

    `marked_as` is `ect1`, `ect0` or `not_ect`: the codepoint of most data packets; a CE packet
    counts for the codepoint it replaced, which the others show. `began`: the capture shows the
    start.
    """
    ends = capture.flows.lazy().select(
        "source",
        "flow",
        "transport",
        "mode",
        "handshake",
        "vantage",
        "client",
        "server",
        "syn_ecn",
        "syn_arrived_ecn",
        "synack_ecn",
        "synack_arrived_ecn",
        *_networks(capture.flows),
    )
    joined = capture.directions.lazy().join(
        ends, on=["source", "flow"], how="left", maintain_order="left"
    )
    source = pl.when("forward").then("near").otherwise("far")
    target = pl.when("forward").then("far").otherwise("near")
    named = joined.with_columns(
        pl.when("forward").then("client").otherwise("server").alias("sender"),
        pl.format("{}>{}", source.fill_null("?"), target.fill_null("?")).alias("path"),
        carried().alias("marked_as"),
        pl.coalesce("from_start", pl.col("handshake") != "none").alias("began"),
    )
    return named.collect()


@kept
def datagrams(capture: Capture) -> pl.DataFrame:
    """Directions over UDP of which only what they sent is known, in the columns of `directions`.

    Another capture may read the feedback of their flow.
    """
    unread = replace(capture, flows=capture.udp_flows, directions=capture.udp_directions)
    sent = capture.udp_rounds.select(KEY)
    here = directions(capture).join(sent, on=KEY, how="semi", maintain_order="left")
    return pl.concat([directions(unread), here])


def carried() -> pl.Expr:
    """Codepoint of most data packets that are not CE."""
    ect1, ect0, none = (pl.col(f"data_{c}").fill_null(0) for c in ("ect1", "ect0", "not_ect"))
    return (
        pl.when((ect1 >= ect0) & (ect1 >= none) & (ect1 > 0))
        .then(pl.lit("ect1"))
        .when((ect0 >= none) & (ect0 > 0))
        .then(pl.lit("ect0"))
        .otherwise(pl.lit("not_ect"))
    )


def packet_us(rate: pl.Expr = RATE) -> pl.Expr:
    """Time of a full packet at ``rate``, else at `rate_bps`; 0 where no rate is known."""
    return pl.when(rate > 0).then(FRAME_BYTES * 8e6 / rate).otherwise(0.0)


def _networks(flows: pl.DataFrame) -> list[pl.Series]:
    """`near` and `far`: the networks of `client` and `server`; null stays null."""
    # As `network` of each, which takes 40 us: 0.7 s of a run with 20,000 hosts.
    made, known = _native.path_networks(flows.select("client", "server"))
    names = pl.Series([network(name) if odd else name for name, odd in known], dtype=pl.String)
    return [names.gather(number).alias(number.name) for number in pl.DataFrame(made)]


def network(address: str) -> str:
    """`10.0.1.0/24` or `fd00::/64`; an IPv4-mapped address is IPv4, other text its own network."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    plain = getattr(parsed, "ipv4_mapped", None) or parsed
    return str(ip_network((plain, PREFIX[plain.version]), strict=False))
