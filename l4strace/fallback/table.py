"""The table `fallback`: one row a flow direction, from the log where there is one, else packets."""

import polars as pl

from l4strace.evidence import Evidence, kept
from l4strace.fallback import counters
from l4strace.fallback.conditions import UNCHANGED, conditions
from l4strace.fallback.judgment import verdict
from l4strace.fallback.place import Place, places
from l4strace.fallback.recorded import MIN_SHARE, recorded
from l4strace.fallback.replayed import replayed
from l4strace.fallback.response import responses
from l4strace.fallback.row import Row, Seen, Verdict, row
from l4strace.fallback.samples import sampled
from l4strace.fallback.use import Use, used
from l4strace.model import Confidence
from l4strace.schema.evidence import FALLBACK


@kept
def rows(evidence: Evidence) -> tuple[Row, ...]:
    """Directions that may run Prague: with its state in a log, or ECT(1) data; then the counters.

    Rules and the verdict's frame read these.
    """
    return (*(row(seen, verdict(seen)) for seen in _seen(evidence)), *_counted(evidence))


def _seen(evidence: Evidence) -> list[Seen]:
    """What is known of each direction, by flow."""
    places_of, scores, sampled_of = places(evidence), recorded(evidence), sampled(evidence)
    use_of = used(evidence, scores)
    replayed_of, response_of = replayed(evidence), responses(evidence)
    then = conditions(evidence)
    known = scores.keys() | sampled_of.keys() | replayed_of.keys() | response_of.keys()
    return [
        Seen(
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
    seen = Seen(zones=zones, inputs=inputs)
    if zones.classic_share < MIN_SHARE:
        return [row(seen, Verdict("idle", None, "counters", Confidence.HIGH))]
    if inputs is None:
        return [row(seen, Verdict("acts", "unknown", "counters", Confidence.LOW))]
    low = inputs.low_share >= 1 - MIN_SHARE
    cause = Verdict("acts", "nothing" if low else "unknown", "counters", Confidence.HIGH)
    return [row(seen, cause)]


def table(evidence: Evidence) -> pl.DataFrame:
    """The rows as a table, with the numbers of what shows the state."""
    values = [_values(one) for one in rows(evidence)]
    return pl.DataFrame(values, schema=FALLBACK.schema, orient="row")


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
