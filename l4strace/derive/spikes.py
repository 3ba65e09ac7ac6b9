"""Latency spikes: when delay left its usual range, how far, how long, whom it hit, and why.

One event is one stretch of time on one path, whichever flows it hits. Its height is the largest
delay of a packet (`derive.delays`). Against the true one-way delay of random runs of the kernel lab
(fixtures/lab): with the captures of both ends 194 of 198 events within 10 %; from the sender's RTTs
102 of 121 without loss and 153 of 176 with loss. The others have jitter in the ACK direction, or
a snaplen that cuts SACK off: lost packets have no RTT, and those behind them only that of SACK.
"""

from __future__ import annotations

import polars as pl

from l4strace.derive import capacity, company, delays, phases
from l4strace.evidence import Capture
from l4strace.schema import TABLES
from l4strace.schema.keys import KEY, OF, PATH, of_round

ABOVE_US, ABOVE_RATIO = 15_000.0, 2.0
"""A spike exceeds the usual delay by 15 ms (DualPI2's classic target) and by twice its height."""

MIN_LENGTH_NS = 50_000_000
"""Shorter peaks are bursts that the queue is there to absorb. By eye."""

JOIN_NS = 250_000_000
"""Peaks closer than this are one spike. By eye."""

RATE_DROP = 0.6
"""What the path delivered in the spike against the second before: below this it got slower."""

LOOK_BACK_NS = 1_000_000_000
"""How long before a spike its cause may lie: some round trips of any path. By eye."""

EARLY_NS, EARLY_ROUNDS = 500_000_000, 20
"""Start of a flow, in which its window may double, the longer of both: slow start reaches 10,000
packets from 10 (RFC 6928) in ten round trips; the same again for queue and recovery."""

DOUBLING = 3.0
"""Growth of the flight over three rounds that only slow start makes (it would be 8). By eye."""

BURST_RATIO = 8.0
"""A burst of eight times the usual one, in a spike that nothing else explains. By eye."""

EVENT = [*PATH, "spike"]


def table(capture: Capture) -> pl.DataFrame:
    """One row per event, in the schema of `spikes`."""
    schema = TABLES["spikes"]
    rounds = _rounds(capture)
    if not rounds.select((pl.col("delay_us") > pl.col("limit_us")).any()).item():
        return schema.empty()
    rounds = rounds.with_columns(
        pl.col("burst_bytes").median().over("of").alias("usual_burst"),
        _doubling().alias("doubling"),
    )
    events = _events(_joined(rounds.filter(pl.col("delay_us") > pl.col("limit_us"))))
    events = events.filter(pl.col("end_ns") - pl.col("start_ns") >= MIN_LENGTH_NS)
    if events.is_empty():
        return schema.empty()
    for more in (_during(events, rounds), _starters(events, rounds), _rates(events, capture)):
        events = events.join(more, on=EVENT, how="left", maintain_order="left")
    events = _with_room(events, capture).with_columns(_cause().alias("cause"))
    started = pl.col("cause").is_in(["slow-start", "new-flow"])
    blamed = (pl.when(started).then(name).alias(name) for name in ("culprit", "peak_packets"))
    return schema.conform(events.with_columns(*blamed)).sort(schema.key)


def _rounds(capture: Capture) -> pl.DataFrame:
    """Rounds with the delay from which they belong to a spike, `limit_us`."""
    usual, packets = pl.col("usual_us"), pl.col("packets")
    rounds = (
        delays.rounds(capture)
        .lazy()
        .with_columns(
            pl.col("delay_us").median().over("of").alias("usual_us"),
            pl.col("acked_packets").sum().over("of").alias("packets"),
            pl.len().over("of").alias("count"),
        )
    )
    enough = (pl.col("count") >= company.MIN_ROUNDS) | (packets >= company.MIN_ACKED_PACKETS)
    limit = usual + pl.max_horizontal(ABOVE_RATIO * usual, pl.lit(ABOVE_US))
    long = rounds.filter(enough & (packets >= company.MIN_ROUNDS))
    return long.with_columns(limit.alias("limit_us")).collect()


def _doubling() -> pl.Expr:
    """The window doubles: at the start of the flow."""
    flight = pl.col("inflight_max_packets")
    grown = (flight >= DOUBLING * of_round(-3, flight, OF)).fill_null(False)
    age = pl.col("start_ns") - pl.col("start_ns").min().over("of")
    early = (age <= EARLY_NS) | (pl.col("round") <= EARLY_ROUNDS)
    return (pl.col("slow_start").fill_null(False) | grown) & early


def _joined(peaks: pl.DataFrame) -> pl.DataFrame:
    """Peaks of all flows of a path with the number of the spike that they belong to."""
    peaks = peaks.sort(*PATH, "start_ns")
    reached = pl.col("end_ns").cum_max().shift().over(PATH)
    opens = (pl.col("start_ns") - reached > JOIN_NS).fill_null(True)
    return peaks.with_columns(opens.cast(pl.Int64).cum_sum().over(PATH).alias("spike"))


def _events(peaks: pl.DataFrame) -> pl.DataFrame:
    highest = pl.col("delay_us").arg_max()
    return peaks.group_by(EVENT).agg(
        *(pl.col(name).get(highest) for name in ("flow", "forward", "usual_us", "one_way")),
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        pl.col("delay_us").max().alias("height_us"),
        pl.col("start_ns").get(highest).alias("highest_ns"),
        pl.col("flow").unique().sort().alias("hit"),
        pl.len().alias("rounds"),
        pl.col("first_frame").min(),
        pl.col("last_frame").max(),
        (pl.col("burst_bytes").max() > BURST_RATIO * pl.col("usual_burst").max()).alias("bursty"),
    )


def _during(events: pl.DataFrame, rounds: pl.DataFrame) -> pl.DataFrame:
    """What was retransmitted in each event, by the flows that it hit."""
    spans = events.select(*EVENT, "hit", begin_ns="start_ns", until_ns="end_ns").sort("begin_ns")
    # A round that began before the event may lie in it.
    inside = rounds.select(*KEY, "path", "end_ns", "start_ns", "retransmits").sort("end_ns")
    found = inside.join_asof(
        spans, left_on="end_ns", right_on="begin_ns", by=PATH, check_sortedness=False
    ).filter(pl.col("start_ns") <= pl.col("until_ns"), pl.col("hit").list.contains(pl.col("flow")))
    return found.group_by(EVENT).agg(pl.col("retransmits").fill_null(0).sum().alias("lost"))


def _starters(events: pl.DataFrame, rounds: pl.DataFrame) -> pl.DataFrame:
    """The flow that doubled its window, or else began, in the second before each event.

    One that doubled its window may begin in the event, before its highest delay: a small flow that
    begins earlier only opens the event (simulated run s8103-047).
    """
    starts = rounds.group_by(*KEY, "path").agg(
        pl.col("start_ns").min().alias("began_ns"),
        pl.col("end_ns").filter("doubling").max().alias("doubled_ns"),
        pl.col("acked_packets").sum().alias("carried"),
    )
    spans = events.select(*EVENT, "hit", "start_ns", "end_ns", "highest_ns", hardest="flow")
    near = spans.join(starts, on=PATH).with_columns(
        pl.col("hit").list.contains(pl.col("flow")).alias("own"),
        (pl.col("began_ns") > pl.col("start_ns") - LOOK_BACK_NS).alias("new"),
        (pl.col("doubled_ns") >= pl.col("start_ns") - JOIN_NS).fill_null(False).alias("grew"),
    )
    large = pl.col("carried") >= company.MIN_ACKED_PACKETS
    near = near.filter(
        (pl.col("own") & pl.col("grew") & (pl.col("began_ns") <= pl.col("highest_ns")))
        | (
            pl.col("new")
            & (pl.col("began_ns") <= pl.col("start_ns"))
            & (pl.col("flow") != pl.col("hardest"))
            & large
        ),
    )
    # Of several that doubled their windows, the one that had most in flight.
    near = near.join(
        _peak_flights(near, rounds),
        on=[*EVENT, "flow", "forward"],
        how="left",
        maintain_order="left",
    )
    order = {"own": True, "grew": True, "peak_packets": True, "began_ns": False, "flow": False}
    ranked = near.sort(order.keys(), descending=list(order.values()), nulls_last=True)
    first = ranked.unique(EVENT, keep="first", maintain_order=True)
    return first.select(
        *EVENT,
        pl.col("flow").alias("culprit"),
        (pl.col("own") & pl.col("grew")).alias("grew"),
        "peak_packets",
    )


def _peak_flights(starters: pl.DataFrame, rounds: pl.DataFrame) -> pl.DataFrame:
    """Most packets that each candidate had in flight from its start to the end of the event."""
    spans = starters.select(*EVENT, "flow", "forward", until_ns="end_ns")
    flights = spans.join(rounds.drop("path"), on=KEY, suffix="_round").filter(
        pl.col("start_ns") <= pl.col("until_ns")
    )
    peak = pl.col("inflight_max_packets").max().alias("peak_packets")
    return flights.group_by(*EVENT, "flow", "forward").agg(peak)


def _rates(events: pl.DataFrame, capture: Capture) -> pl.DataFrame:
    """Whether the path got slower: a change of phase, or what it delivered against before."""
    slots = capacity.slots(capture).select(*PATH, at="start_ns", bps="delivered_bps")
    near = events.select(*EVENT, "start_ns", "end_ns").join(slots, on=PATH)
    before = pl.col("at").is_between(pl.col("start_ns") - LOOK_BACK_NS, pl.col("start_ns") - 1)
    inside = pl.col("at").is_between(pl.col("start_ns"), pl.col("end_ns"))
    rates = near.group_by(EVENT).agg(
        pl.col("bps").filter(before).median().alias("was"),
        pl.col("bps").filter(inside).median().alias("is"),
    )
    slower = (pl.col("is") < RATE_DROP * pl.col("was")).fill_null(False)
    return rates.select(*EVENT, slower.alias("slower")).join(
        _falls(events, capture), on=EVENT, how="left", maintain_order="left"
    )


def _falls(events: pl.DataFrame, capture: Capture) -> pl.DataFrame:
    """Whether the capacity fell in the second before the event began or after it."""
    found = phases.table(capture).sort("start_ns")
    fell = found.filter(
        pl.col("changed") == "capacity",
        pl.col("capacity_bps") < pl.col("capacity_bps").shift().over(PATH),
    ).select(*PATH, fell_ns="start_ns")
    first, last = pl.col("start_ns") - LOOK_BACK_NS, pl.col("start_ns") + LOOK_BACK_NS
    at = pl.col("fell_ns").is_between(first, pl.min_horizontal(last, "end_ns"))
    return (
        events.select(*EVENT, "start_ns", "end_ns")
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
        company.directions(capture)
        .join(segments, on=KEY, how="left", maintain_order="left")
        .join(events.select(KEY).unique(), on=KEY, how="semi")
        .group_by(PATH)
        .agg(size.alias("size"), rtt.alias("rtt_us"))
    )
    placed = phases.assigned(capture, events).join(
        phases.table(capture).select(*PATH, "phase", "capacity_bps"),
        on=[*PATH, "phase"],
        how="left",
        maintain_order="left",
    )
    fills = pl.col("capacity_bps") * pl.col("rtt_us") / 8e6 / pl.col("size")
    return placed.join(paths, on=PATH, how="left", maintain_order="left").with_columns(
        fills.alias("fills_packets"),
        pl.col("hit").list.len().alias("flows"),
        pl.col("hit").cast(pl.List(pl.String)).list.join(", ").alias("hit"),
    )


def _cause() -> pl.Expr:
    """The likeliest cause, most specific first. Loss follows from queue and is never its cause."""
    return (
        pl.when(pl.col("fell").fill_null(False))
        .then(pl.lit("rate-drop"))
        .when(pl.col("grew").fill_null(False))
        .then(pl.lit("slow-start"))
        .when(pl.col("culprit").is_not_null())
        .then(pl.lit("new-flow"))
        .when(pl.col("slower").fill_null(False))
        .then(pl.lit("rate-drop"))
        .when(pl.col("bursty").fill_null(False))
        .then(pl.lit("burst"))
        .otherwise(pl.lit("unknown"))
    )
