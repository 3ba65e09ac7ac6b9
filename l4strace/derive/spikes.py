"""Latency spikes: when delay left its usual range, how far, how long, whom it hit, and why.

One event is one stretch of time on one path, whichever flows it hits. Its height is the largest
delay of a packet (`measure/delays.rs`). Against the true one-way delay of random runs of the kernel
lab (fixtures/lab): with the captures of both ends 194 of 198 events within 10 %; from the sender's
RTTs 102 of 121 without loss and 153 of 176 with loss. The others have jitter in the ACK direction,
or a snaplen that cuts SACK off: lost packets have no RTT, and those behind them only that of SACK.
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import capacity, datagrams, delays, neighbors, phases
from l4strace.derive.measured import measured
from l4strace.evidence import Capture
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY, PATH

RATE_DROP = 0.6
"""What the path delivered in the spike against the second before: below this it got slower."""

JOIN_NS, LOOK_BACK_NS = _native.SPIKE_JOIN_NS, _native.SPIKE_LOOK_BACK_NS
"""Time between peaks of a spike, and how long before it its cause may lie: `measure/spikes.rs`."""

INITIAL_WINDOW = 10
"""Packets that a flow sends at once (RFC 6928): up to there its window has not doubled."""

EVENT = [*PATH, "spike"]


def table(capture: Capture) -> pl.DataFrame:
    """One row per event, in the schema of `spikes`."""
    schema = TABLES["spikes"]
    events = _events(capture)
    if events.is_empty():
        return schema.empty()
    events = _with_room(events, capture)
    events = events.join(_rates(events, capture), on=EVENT, how="left", maintain_order="left")
    events = _with_datagrams(events, capture)
    events = events.with_columns(_cause().alias("cause"))
    started = pl.col("cause").is_in(["slow-start", "new-flow"]) | _burst()
    blamed = (pl.when(started).then(name).alias(name) for name in ("culprit", "peak_packets"))
    return schema.conform(events.with_columns(*blamed)).sort(schema.key)


def _events(capture: Capture) -> pl.DataFrame:
    """Events, and the flow that doubled its window or began before each: `measure/spikes.rs`."""
    found = pl.DataFrame(measured(capture).spikes(delays.known(capture))).with_row_index("spike")
    keys = neighbors.directions(capture).select(*KEY, "path")
    return keys[found["of"]].hstack(found.drop("of"))


def _rates(events: pl.DataFrame, capture: Capture) -> pl.DataFrame:
    """Whether the path got slower: a change of phase, or what as many flows delivered before."""
    slots = capacity.slots(capture).select(
        *PATH, "flows", "beside_bps", at="start_ns", until="end_ns", bps="delivered_bps"
    )
    near = events.select(*EVENT, "start_ns", "end_ns").join(slots, on=PATH)
    before = pl.col("at").is_between(pl.col("start_ns") - LOOK_BACK_NS, pl.col("start_ns") - 1)
    # Of a slot that began earlier, or went on, a pause takes a part.
    inside = (pl.col("at") >= pl.col("start_ns")) & (pl.col("until") <= pl.col("end_ns"))
    rates = near.group_by(EVENT).agg(
        # What a flow over UDP took is not taken by the link.
        (pl.col("bps") - pl.col("beside_bps")).filter(before).median().alias("was"),
        pl.col("bps").filter(inside).median().alias("is"),
        # A flow that ends leaves the rest to the others, which need time to take it.
        (pl.col("flows").filter(inside).min() >= pl.col("flows").filter(before).max()).alias("all"),
    )
    less = (pl.col("is") < RATE_DROP * pl.col("was")) & pl.col("all")
    slower = less.fill_null(False)
    return rates.select(*EVENT, slower.alias("slower")).join(
        _falls(events, capture), on=EVENT, how="left", maintain_order="left"
    )


def _falls(events: pl.DataFrame, capture: Capture) -> pl.DataFrame:
    """Whether the capacity fell in the second before the event began or after it.

    One-way delays stand where packets were sent: their ACKs show the fall a round trip later.
    """
    unsure = phases.beside(capture).filter(~pl.col("sure"))
    found = phases.table(capture).sort("start_ns")
    fell = (
        found.filter(
            pl.col("changed") == "capacity",
            pl.col("capacity_bps") < pl.col("capacity_bps").shift().over(PATH),
        )
        .join(unsure, on=[*PATH, "phase"], how="anti", maintain_order="left")
        .select(*PATH, fell_ns="start_ns")
    )
    first, last = pl.col("start_ns") - LOOK_BACK_NS, pl.col("start_ns") + LOOK_BACK_NS
    trip_ns = ((pl.col("rtt_us") + pl.col("height_us")) * 1000).cast(pl.Int64)
    acked_ns = pl.col("end_ns") + pl.when("one_way").then(trip_ns).otherwise(0).fill_null(0)
    at = pl.col("fell_ns").is_between(first, pl.min_horizontal(last, acked_ns))
    return (
        events.select(*EVENT, "start_ns", "end_ns", "height_us", "rtt_us", "one_way")
        .join(fell, on=PATH)
        .filter(at)
        .select(EVENT)
        .unique()
        .with_columns(pl.lit(True).alias("fell"))
    )


def _with_room(events: pl.DataFrame, capture: Capture) -> pl.DataFrame:
    """Packets that fill the path without queue: capacity times base RTT."""
    # Offloads hand over several segments as one packet.
    size = pl.min_horizontal("max_payload", "segment").max()
    rtt = pl.col("rtt_min_us").min()
    peer = pl.when("forward").then("mss_server").otherwise("mss_client")
    segments = capture.flows.join(pl.DataFrame({"forward": [True, False]}), how="cross").select(
        *KEY, segment=pl.when(peer > 0).then(peer)
    )
    paths = (
        neighbors.directions(capture)
        .join(segments, on=KEY, how="left", maintain_order="left")
        .join(events, on=KEY, how="semi")
        .group_by(PATH)
        .agg(size.alias("size"), rtt.alias("rtt_us"))
    )
    rates = phases.table(capture).select(*PATH, "phase", "capacity_bps")
    fills = pl.col("capacity_bps") * pl.col("rtt_us") / 8e6 / pl.col("size")
    return (
        phases.assigned(capture, events)
        .join(rates, on=[*PATH, "phase"], how="left", maintain_order="left")
        .join(paths, on=PATH, how="left", maintain_order="left")
        .with_columns(fills_packets=fills)
    )


def _with_datagrams(events: pl.DataFrame, capture: Capture) -> pl.DataFrame:
    """Other flows over UDP that take much of the path: whether any sent (`beside`).

    One that began in the second before, where no flow that is measured did, is the `culprit`.
    """
    columns = (*PATH, "bps", "first_ns", "last_ns")
    tables = (datagrams.directions(capture), datagrams.measured(capture))
    known = pl.concat(table.select(*columns, begun="flow") for table in tables)
    met = (
        events.select(*EVENT, "flow", "start_ns", "end_ns", "capacity_bps")
        .join(known, on=PATH)
        .filter(
            pl.col("begun") != pl.col("flow"),
            pl.col("bps") >= datagrams.LEAST_SHARE * pl.col("capacity_bps"),
            pl.col("first_ns") <= pl.col("end_ns"),
            pl.col("last_ns") >= pl.col("start_ns"),
        )
        .sort("bps", "begun", descending=[True, False])
    )
    before = pl.col("start_ns") - pl.col("first_ns")
    began = pl.col("begun").filter(before.is_between(0, LOOK_BACK_NS)).first()
    found = met.group_by(EVENT).agg(began, beside=pl.lit(True))
    grew = pl.col("grew").fill_null(False)
    return events.join(found, on=EVENT, how="left", maintain_order="left").with_columns(
        pl.col("beside").fill_null(False),
        culprit=pl.when(~grew).then(pl.coalesce("culprit", "begun")).otherwise("culprit"),
    )


def _cause() -> pl.Expr:
    """The likeliest cause, most specific first. Loss follows from queue and is never its cause."""
    grew = pl.col("grew").fill_null(False) & ~_of_others()
    return (
        pl.when(pl.col("fell").fill_null(False))
        .then(pl.lit("rate-drop"))
        .when(_burst())
        .then(pl.lit("burst"))
        .when(grew & (pl.col("peak_packets") > INITIAL_WINDOW))
        .then(pl.lit("slow-start"))
        .when(~pl.col("grew").fill_null(False) & pl.col("culprit").is_not_null())
        .then(pl.lit("new-flow"))
        .when(pl.col("slower").fill_null(False))
        .then(pl.lit("rate-drop"))
        .when(pl.col("bursty").fill_null(False))
        .then(pl.lit("burst"))
        .otherwise(pl.lit("unknown"))
    )


def _of_others() -> pl.Expr:
    """A flow over UDP sent, and the packets of the one that grew are too few for the queue.

    They take twice as long as alone where the other has half of the path.
    """
    own_us = 2 * pl.col("peak_packets") / pl.col("fills_packets") * pl.col("rtt_us")
    return pl.col("beside") & (pl.col("height_us") > own_us).fill_null(False)


def _burst() -> pl.Expr:
    """Slow start sent packets at once, while all in flight would not fill the path.

    What waits behind a burst waits for no longer than its packets take.
    """
    part = pl.col("flight_packets") / pl.col("fills_packets")
    little = (part < 1) & (pl.col("height_us") <= part * pl.col("rtt_us"))
    return pl.col("grew").fill_null(False) & little.fill_null(False)
