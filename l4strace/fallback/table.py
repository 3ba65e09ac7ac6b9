"""The table `fallback`: one row a flow direction, from the log where there is one, else packets.

Of most directions packets show nothing but a low score: these stay columns.
"""

import polars as pl

from l4strace.evidence import Evidence, kept
from l4strace.fallback import counters
from l4strace.fallback.conditions import UNCHANGED, conditions
from l4strace.fallback.direction import Direction, typed
from l4strace.fallback.judgment import MISSED, verdict
from l4strace.fallback.place import Place, places
from l4strace.fallback.recorded import MIN_SHARE, recorded
from l4strace.fallback.replayed import Replayed, replayed
from l4strace.fallback.response import responses
from l4strace.fallback.row import Row, Verdict, judged
from l4strace.fallback.samples import sampled
from l4strace.fallback.use import Use, used
from l4strace.model import Confidence
from l4strace.schema.evidence import FALLBACK
from l4strace.schema.keys import DIRECTION


@kept
def rows(evidence: Evidence) -> tuple[Row, ...]:
    """Directions of which a log or packets show more than a low score, then the counters.

    Rules and the verdict's frame read these.
    """
    return (*(judged(seen, verdict(seen)) for seen in _seen(evidence)), *_counted(evidence))


def _seen(evidence: Evidence) -> list[Row]:
    """What is known of each direction, by flow."""
    scores, sampled_of, response_of = recorded(evidence), sampled(evidence), responses(evidence)
    high = replayed(evidence).filter(pl.col("time") >= MISSED).select(DIRECTION)
    known: set[Direction] = {*scores, *sampled_of, *response_of, *high.iter_rows()}
    if not known:
        return []
    schema = {name: FALLBACK.schema[name] for name in DIRECTION}
    own = pl.DataFrame(sorted(known), schema, orient="row")
    places_of = typed(places(evidence).join(own, on=DIRECTION, how="semi"), Place)
    replayed_of = typed(replayed(evidence).join(own, on=DIRECTION, how="semi"), Replayed)
    use_of, then = used(evidence, scores), conditions(evidence)
    return [
        Row(
            *one,
            places_of.get(one, Place()),
            scores.get(one),
            use_of.get(one, Use()),
            sampled_of.get(one),
            replayed_of.get(one),
            response_of.get(one),
            then.get(one, UNCHANGED),
        )
        for one in sorted(known)
    ]


def _counted(evidence: Evidence) -> list[Row]:
    """Counters of a whole host have no flow: how many cuts were classic, how many inputs low."""
    zones, inputs = counters.zones(evidence.aggregates), counters.inputs(evidence.aggregates)
    if zones is None:
        return []
    seen = Row(zones=zones, inputs=inputs)
    if zones.classic_share < MIN_SHARE:
        return [judged(seen, Verdict("idle", None, "counters", Confidence.HIGH))]
    if inputs is None:
        return [judged(seen, Verdict("acts", "unknown", "counters", Confidence.LOW))]
    low = inputs.low_share >= 1 - MIN_SHARE
    cause = Verdict("acts", "nothing" if low else "unknown", "counters", Confidence.HIGH)
    return [judged(seen, cause)]


def table(evidence: Evidence) -> pl.DataFrame:
    """The rows as a table, with the numbers of what shows the state."""
    values = [_values(one) for one in rows(evidence)]
    shown = pl.DataFrame(values, schema=FALLBACK.schema, orient="row")
    others = replayed(evidence).join(shown, on=DIRECTION, how="anti")
    others = others.join(places(evidence), on=DIRECTION, how="left").with_columns(
        pl.col("jitter_us").fill_null(0.0),
        state=pl.lit("unknown"),
        confidence=pl.lit("low"),
        above_share="time",
        above_most="time_most",
        score_max="most",
        packet_us=pl.when(pl.col("packet_us") > 0).then("packet_us"),
    )
    both = pl.concat([FALLBACK.conform(others), shown])
    return both.sort(DIRECTION, nulls_last=True, maintain_order=True)


def _values(one: Row) -> tuple[object, ...]:
    """In the order of the declared columns."""
    place, response = one.place, one.response
    reductions = (response.samples, response.fraction, response.half_alpha) if response else ()
    return (
        *(one.flow, one.forward, one.state, one.justified_by, one.shown_by),
        *(one.confidence.name.lower(), place.kind, *_of_score(one)),
        *(place.jitter_us, place.packet_us or None, *(reductions or (None,) * 3)),
    )


def _of_score(one: Row) -> tuple[object, ...]:
    """From `above_share` to `build`: as recorded, else as replayed."""
    if score := one.recorded:
        inputs = score.high_mdev_us, score.high_depth_us
        share = score.time, score.time, score.fixed_share
        return (*share, score.most, score.since_ns, *inputs, score.build)
    if replay := one.replayed:
        inputs = replay.mdev_us, replay.depth_us
        return (replay.time, replay.time_most, None, replay.most, replay.since_ns, *inputs, None)
    return (None,) * 8
