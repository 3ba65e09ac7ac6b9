"""What identifies the bottleneck: marks, delays, rates and neighbors of each flow direction.

`native/src/measure/features.rs` measures, path by path. Packets only: nothing here reads
`capture.kernel`.
"""

from __future__ import annotations

import polars as pl

from l4strace.core import _native
from l4strace.derive import (
    behind,
    marked,
    neighbors,
    noise,
    numbers,
    one_way,
    overall,
    phases,
    queue_delay,
)
from l4strace.derive.measured import measured
from l4strace.evidence import Capture, kept
from l4strace.schema.keys import DIRECTION, KEY, PATH

L4S_MARK_US, PACKETS = _native.L4S_MARK_US, _native.L4S_MARK_PACKETS
"""Border of marking delays between L4S and classic AQMs, and on a slow link the same in times of a
packet: `measure/rating.rs`."""


def features(capture: Capture, stretches: pl.DataFrame | None = None) -> pl.DataFrame:
    """Everything that the verdict looks at, one row a direction with enough steady rounds.

    ``stretches``: `PATH` and `phase` of the rounds that count; all where it is left out.
    """
    only = None
    if stretches is not None:
        at = numbers.named(capture).select("at", *PATH)
        only = stretches.join(at, on=PATH, maintain_order="left").select("at", "phase").rechunk()
    own = pl.DataFrame(measured(capture).features(phases.found(capture), known(capture), only))
    keys = neighbors.directions(capture).select(*KEY, "path")
    between = one_way.marked_between(capture).lazy()
    named = numbers.named(capture).lazy().select("at", *PATH)
    policed = named.join(pl.LazyFrame(measured(capture).policed()), on="at").drop("at")
    return (
        keys[own["of"]]
        .hstack(own.drop("of"))
        .lazy()
        .join(between, on=PATH, how="left", maintain_order="left")
        .join(_echoed(capture), on=PATH, how="left", maintain_order="left")
        .join(policed, on=PATH, how="left", maintain_order="left")
        .with_columns(
            pl.coalesce("ect0_between", "ect0_marks").alias("ect0_marks"),
            # The larger one: marks of a slow start may hide those of ECT(0) in one of them.
            pl.max_horizontal(
                pl.coalesce("ect0_between_ratio", "ect0_echoed_ratio"), "ect0_ratio"
            ).alias("ect0_ratio"),
        )
        .drop("path", "ect0_between", "ect0_between_ratio", "ect0_echoed_ratio")
        .join(_carried(capture), on=KEY, how="left", maintain_order="left")
        .join(behind.counts(capture).lazy(), on=KEY, how="left", maintain_order="left")
        .join(one_way.delays(capture).lazy(), on=KEY, how="left", maintain_order="left")
        .join(noise.table(capture).lazy().drop("rounds"), on=KEY, how="left", maintain_order="left")
        .sort(KEY)
        .collect()
    )


def _echoed(capture: Capture) -> pl.LazyFrame:
    """Marked share of ECT(0) packets over that of ECT(1) packets, by path, where the echo shows it.

    Other classic feedback shows that there were marks, not how many. The flow with most of them
    stands for all: one queue marks its ECT(0) packets alike.
    """
    ways = neighbors.directions(capture).lazy().select(*KEY, "path", "marked_as")
    of = pl.col("marked_as") == "ect0", pl.col("marked_as") == "ect1"
    counted = capture.directions.lazy().select(*KEY, "data_segments", marks=marked.packets())
    echoed = marked.echoed(capture).lazy().select(*KEY, "share")
    ect1 = pl.col("marks").filter(of[1]).sum() / pl.col("data_segments").filter(of[1]).sum()
    return (
        ways.join(counted, on=KEY, how="left", maintain_order="left")
        .join(echoed, on=KEY, how="left", maintain_order="left")
        .group_by(PATH)
        .agg(pl.col("share").filter(of[0]).max(), ect1=ect1)
        .filter(pl.col("ect1") > 0)
        .select(*PATH, ect0_echoed_ratio=pl.col("share") / pl.col("ect1"))
    )


def few_rounds(capture: Capture, known_already: pl.DataFrame) -> pl.DataFrame:
    """Directions beside those that sent enough packets in too few round trips after the start.

    One row each, with `path`, `marked_as`, `rounds`, `acked`, `marks`, `losses`, `queue_delay_us`.
    """
    keys = neighbors.directions(capture).select(*KEY, "path", "marked_as")
    others = keys.with_row_index("of").join(known_already, on=KEY, how="anti")
    sums = pl.DataFrame(measured(capture).sums(known(capture), others["of"].to_list()))
    return (
        keys[sums["of"]]
        .hstack(sums.drop("of"))
        .lazy()
        .filter(
            (pl.col("acked") >= neighbors.MIN_ACKED_PACKETS)
            # A starved flow sends less in as many round trips; short flows in few.
            | (
                (pl.col("acked") >= neighbors.MIN_STEADY_PACKETS)
                & (pl.col("rounds") >= neighbors.MIN_ROUNDS)
            )
        )
        .sort(KEY)
        .collect()
    )


@kept
def known(capture: Capture) -> pl.DataFrame:
    """What other tables say about each direction, in the order of `neighbors.directions`."""
    one = one_way.bases(capture).lazy()
    owd = one.select(
        *(*KEY, "owd_base_us", "owd_floor_us", "owd_low_us"), in_order=~pl.col("overtakes")
    )
    found = neighbors.directions(capture).lazy().select(*KEY, "marked_as", "began")
    for more in (queue_delay.bases(capture).lazy(), mangled(capture).lazy(), owd):
        found = found.join(more, on=KEY, how="left", maintain_order="left")
    sized = phases.sized(capture).select("capacity_bps", "noise_us")
    mss = pl.col("option_mss").cast(pl.UInt32)
    return found.with_columns(mss).collect().hstack(sized).rechunk()


@kept
def mangled(capture: Capture) -> pl.DataFrame:
    """Directions whose ACE feedback is mangled (rule L4S108), with `option_mss`.

    The path zeroes ACE, or the option counts CE bytes that ACE never reported. Where the option
    shows the CE bytes of rounds, `option_mss` is the size of the packets they stand for; else null.
    """
    back = capture.directions.lazy().select(
        "source", "flow", (~pl.col("forward")).alias("forward"), "ace_distinct", "ace_first"
    )
    modes = capture.flows.lazy().select("source", "flow", "mode")
    own = ("ce_fed_back_hi", "max_payload", "ceb_bytes", "e1b_bytes", "e0b_bytes")
    shown = overall.directions(capture).lazy().select(*KEY, shown="ce_bytes_known")
    zeroed = (pl.col("ace_distinct") == 1) & (pl.col("ace_first") == 0)
    reported = (pl.col("ce_fed_back_hi") * 4 + 8) * pl.col("max_payload")
    silent = pl.col("ceb_bytes") > reported
    accecn = pl.col("mode") == "accecn"
    counted = pl.sum_horizontal("e1b_bytes", "e0b_bytes", "ceb_bytes") > 0
    usable = counted & pl.col("shown") & (pl.col("max_payload") > 0)
    return (
        capture.directions.lazy()
        .select(*KEY, *own)
        .join(back, on=KEY, how="left", maintain_order="left")
        .join(modes, on=["source", "flow"], how="left", maintain_order="left")
        .join(shown, on=KEY, how="left", maintain_order="left")
        .filter(((zeroed & accecn) | silent).fill_null(False))
        .select(*KEY, pl.when(usable).then("max_payload").alias("option_mss"), mangled=pl.lit(True))
        .collect()
    )


def _carried(capture: Capture) -> pl.LazyFrame:
    """Path and codepoint of a direction, and whether the path erases codepoints."""
    erased_syn = (
        pl.when("forward")
        .then((pl.col("syn_ecn") > 0) & (pl.col("syn_arrived_ecn") == 0))
        .otherwise((pl.col("synack_ecn") > 0) & (pl.col("synack_arrived_ecn") == 0))
    )
    counted = pl.sum_horizontal("e1b_bytes", "e0b_bytes", "ceb_bytes")
    uncounted = (
        pl.col("e1b_bytes").is_not_null()
        & (counted == 0)
        & (pl.col("acked_bytes") > neighbors.MIN_ACKED_PACKETS * 1000)
    )
    erased = (erased_syn.fill_null(False) | uncounted).any().over("source", "path")
    began = pl.col("began").any().over("source", "path")
    return (
        neighbors.directions(capture)
        .lazy()
        .join(mangled(capture).lazy(), on=KEY, how="left", maintain_order="left")
        .select(
            *KEY,
            "path",
            "marked_as",
            began.alias("began"),
            erased.alias("erased"),
            pl.col("mangled").fill_null(False).any().over("source", "path").alias("cleared"),
            (pl.col("mangled") & pl.col("option_mss").is_null()).fill_null(False).alias("deaf"),
            pl.coalesce("retransmits", "reported_lost").alias("losses"),
            pl.col("lost_before").fill_null(0),
            # A capture that began late may have missed what another one shows.
            pl.col("data_ce").fill_null(0).max().over(DIRECTION).alias("seen_marks"),
            pl.coalesce("retransmits", "reported_lost", 0)
            .max()
            .over(DIRECTION)
            .alias("seen_losses"),
            (pl.col("ce_fed_back_hi") / pl.col("data_packets")).alias("possible_share"),
        )
        .join(_lost_between(capture), on=KEY, how="left", maintain_order="left")
    )


def _lost_between(capture: Capture) -> pl.LazyFrame:
    """Packets lost between two captures, for the direction as the one near its sender has it."""
    of = [pl.col("near").alias("source"), *DIRECTION]
    return capture.paths.lazy().group_by(of).agg(lost_between=pl.max("lost"))
