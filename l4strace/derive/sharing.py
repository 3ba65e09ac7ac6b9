"""Whether a flow direction and the others of its path wait in one queue.

One queue delays all packets of a moment alike: the delays of two flows are equal at any time, not
merely parallel. Flows with a queue each may move together too: they share the rate, so both
queues grow when a flow joins, and CoDel holds them near one target. Measured on 481 flows of 176
emulated paths: a gap of 0.25 or less with a correlation of 0.7 or more had 229 of 313 in one queue
and 2 of 168 with a queue each; with 0.5 or more it was 242 and 13. RED whose queue swings
faster than the slots leaves no correlation, but hardly a gap. A path that changes moves all its
queues: the delays must then be alike in each of its phases. Measured on 31 flows in one queue of
such paths: 0.50 and more; with a queue each, 12 flows at most 0.49.

Rates decide where both flows always have packets waiting. One queue serves them in the order of
arrival: their RTTs are equal and their rates are as their windows. Fair queueing serves them in
turn: their rates are equal, whatever their windows and RTTs. Measured on 309 comparisons of 93
emulated paths: with a queue each the rates differed by at most 6 % (root mean square of the
logarithm) and the RTTs by 6 % or more in 61 of 73, the others lying behind bursty links or noise;
else the rates by 12 % or more in 233 of 236, and the RTTs by 3 % at most in the other three.

Waits of one moment that do not meet at all say more. Measured on pairs of 147 emulated paths: of
214 in one queue, 17 were apart in 5 % of the slots or more, 3 of them (behind a bursty link) in
30 % or more; of 109 with a queue each, 93 and 67.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from l4strace.derive.noise import REORDERED

Features = dict[str, Any]

MIN_SLOTS = 10
"""Slots shared with another flow from which the two are compared: with 10, a correlation beyond
0.63 is chance in 5 % of cases, with 4 one beyond 0.95."""

EQUAL, NEARLY_EQUAL = 0.1, 0.3
"""Mean gap between two delays, in parts of the longer one, that one queue leaves. See above."""

CORRELATED, PARALLEL = 0.6, 0.85
"""Correlations that bear out the second gap, and that show one queue whatever the gap where a base
RTT that no packet saw moves one of the delays as a whole."""

SURE, SURE_CORRELATED = 0.25, 0.7
"""Mean gap and correlation that leave no doubt: see above."""

WITHIN = 0.5
"""Correlation within the phases of a path that changes: see above."""

APART, FAR_APART = 0.05, 0.3
"""Part of the slots whose waits do not meet, from which flows are not in one queue, and from which
they have one each: see above. Below the second a base RTT that no packet saw may explain it."""

APARTS = ((0.15, 0.2), (0.5, 0.5), (0.7, 0.8))
"""Gap from, and correlation up to which, flows have a queue each: the farther apart, the less their
moves count. In proportion between these points."""

HALF = 0.5
"""Part of the difference of two delays that a longer path explains, if the longer delay never fell
below it: see `longer_path`."""

BEYOND = 2
"""Multiple of the border of L4S delays that CoDel's 5 ms (RFC 8289) and four packets lie within."""

EVEN, UNEVEN = 0.08, 0.5
"""Difference of rates (logarithm, root mean square) up to which fair queueing shares the path out,
and from which it does not: see above."""

FEW, FAR_UNEVEN = 5, 3.0
"""Slots in which both have packets waiting, and the difference of their rates (one gets 20 times as
much) that show no fair queueing however few the slots. Measured: 22 directions so with 5 to 9
slots, none of them with a queue each."""

UNFAIR = 0.4
"""The same through noise. Measured on 55 directions with a queue each: 0.36 at most."""

UNEQUAL = 0.25
"""Difference of rates from which flows have no queue each, where neither jitter nor reordering
moves them: twice the most of 85 directions with a queue each that had the rates of the path to
themselves."""

UNLIKE, TIMES = 0.07, 3.0
"""Difference of the RTTs (logarithm, root mean square), itself and as a multiple of that of the
rates, from which the windows differ and equal rates are no coincidence: see above."""


MIN_OUTRUN, OFTEN = 5, 0.5
"""Slots in which a flow is marked at less than half the rate of the others, and part of those with
marks, that rule out fair queueing: there a flow waits for none but itself, and what gets less than
its share does not wait. Measured on 149 directions with a queue each: 0 to 10 % in all but two, on
links where a packet takes longer than the step; of 157 behind DualPI2, half had 15 % and more. By
eye."""

STEP_US = 1000.0
"""Time of a packet from which waiting for one of another flow is as long as an L4S step."""


def compared(f: Features, mates: str) -> bool:
    """Flows of the class ``mates`` were there long enough."""
    return (f[f"{mates}_slots"] or 0) >= MIN_SLOTS


def waited(f: Features, mates: str) -> bool:
    """Either waited longer than the noise, which moves the delay of each flow on its own."""
    return bool(_longest(f, mates) > f["noise_us"])


def served_in_turn(f: Features, mates: str) -> bool:
    """The rates are equal although the RTTs, and so the windows, are not: fair queueing."""
    if (f[f"{mates}_waiting"] or 0) < MIN_SLOTS:
        return False
    uneven, unlike = f[f"{mates}_uneven"], f[f"{mates}_unlike"]
    return bool(uneven <= EVEN and unlike >= max(UNLIKE, TIMES * uneven))


def perhaps_in_turn(f: Features, mates: str) -> bool:
    """Rates that one queue hardly ever gives flows whose RTTs, and so their windows, differ."""
    if (f[f"{mates}_waiting"] or 0) < MIN_SLOTS:
        return False
    return bool(f[f"{mates}_uneven"] <= EVEN and f[f"{mates}_unlike"] >= UNLIKE)


def out_of_turn(f: Features, mates: str) -> bool:
    """Rates that fair queueing never gives: flows with packets waiting get unequal ones.

    Noise that is longer than the queues may be all that they wait for.
    """
    if (f[f"{mates}_waiting"] or 0) >= MIN_SLOTS and f[f"{mates}_uneven"] >= UNEVEN:
        return bool(min(f[f"{mates}_queue_us"], f[f"{mates}_own_queue_us"]) > f["noise_us"])
    if (f["serialisation_us"] or 0.0) >= STEP_US:
        return False
    left_behind = (
        (f[f"{mates}_outrun"], f[f"{mates}_own_marked"]),
        (f[f"{mates}_outruns"], f[f"{mates}_marked_slots"]),
    )
    return any((n or 0) >= max(MIN_OUTRUN, OFTEN * (of or 0)) for n, of in left_behind)


def far_from_even(f: Features, mates: str) -> bool:
    """Rates so unequal that a few slots in which both have packets waiting rule out fair queues."""
    waiting, uneven = f[f"{mates}_waiting"] or 0, f[f"{mates}_uneven"] or 0.0
    return bool(waiting >= FEW and uneven >= FAR_UNEVEN)


def left_behind(f: Features) -> bool:
    """ECT(1) packets are marked at less than half the rate of others, which wait longer elsewhere.

    One queue has one delay at a time, and with a queue each what gets less than its share does not
    wait to be marked: only a queue for ECT(1) packets and one for others do both. Measured: of 97
    directions so, jitter or not, all had such queues or a step of their own for ECT(1) packets.
    """
    ect1 = f["marked_as"] == "ect1"
    mates = "classic" if ect1 else "scalable"
    if f["marked_as"] == "not_ect" or not compared(f, mates) or not far_apart(f, mates):
        return False
    waits = f[f"{mates}_own_queue_us"], f[f"{mates}_queue_us"]
    of_ect1, of_others = waits if ect1 else waits[::-1]
    marked = f[f"{mates}_own_marked" if ect1 else f"{mates}_marked_slots"]
    outrun = f[f"{mates}_outrun" if ect1 else f"{mates}_outruns"]
    often = marked >= OFTEN * f[f"{mates}_slots"] and outrun >= max(MIN_OUTRUN, OFTEN * marked)
    return bool(often and of_ect1 < of_others and (f["serialisation_us"] or 0.0) < STEP_US)


def unfair(f: Features, mates: str) -> bool:
    """Flows with packets waiting get rates that fair queueing does not give, even through noise.

    What is longer than the queues may make them wait, so this shows no one queue.
    """
    return (f[f"{mates}_waiting"] or 0) >= MIN_SLOTS and f[f"{mates}_uneven"] >= UNFAIR


def unequal(f: Features, mates: str) -> bool:
    """Rates that a queue each gives on no path without noise: flows with packets waiting differ."""
    if (f[f"{mates}_waiting"] or 0) < MIN_SLOTS or (f["late_share"] or 0.0) >= REORDERED:
        return False
    quiet = f["noise_us"] < min(f[f"{mates}_queue_us"], f[f"{mates}_own_queue_us"])
    return bool(quiet and f[f"{mates}_uneven"] >= UNEQUAL)


def one_queue(f: Features, mates: str) -> bool:
    """The delays are equal at the same time."""
    if perhaps_in_turn(f, mates):
        return False
    gap, correlation = _gap(f, mates), _correlation(f, mates)
    nearly = gap <= NEARLY_EQUAL and correlation >= CORRELATED
    offset = correlation >= PARALLEL and longer_path(f, mates)
    together = (nearly or offset) and _moves_within(f, mates)
    # Flows with a queue each wait alike, too, where CoDel holds each or a packet or two fill it.
    equal = gap <= EQUAL and _longest(f, mates) > BEYOND * f["mark_limit_us"]
    return (equal or together) and _apart(f, mates) < APART


def own_queues(f: Features, mates: str) -> bool:
    """The delays differ, and move on their own; or they do not meet at the same time."""
    if served_in_turn(f, mates):
        return True
    if longer_path(f, mates):
        return False
    if far_apart(f, mates):
        return True
    gap = _gap(f, mates)
    return gap > APARTS[0][0] and _correlation(f, mates) <= _most_correlated(gap)


def far_apart(f: Features, mates: str) -> bool:
    """The waits often do not meet, which no path longer than another explains."""
    return _apart(f, mates) >= FAR_APART and not longer_path(f, mates)


def longer_path(f: Features, mates: str) -> bool:
    """The flow that waits longer may only have a longer path: it never waited less.

    The first packet of a flow finds a queue of its own empty. Measured on 17 directions with a
    queue each: the flow that waited longer had once waited less by 3/4 of the difference or more.
    """
    own, others = f[f"{mates}_own_queue_us"], f[f"{mates}_queue_us"]
    least = f["floor_us"] - f["base_us"] if own > others else f[f"{mates}_least_us"]
    return bool(least >= HALF * abs(own - others) > 0)


def within_a_packet(f: Features, mates: str) -> bool:
    """Delays that differ by less than the time of a packet do so in one queue, too."""
    return _gap(f, mates) * _longest(f, mates) < (f["serialisation_us"] or 0.0)


def _longest(f: Features, mates: str) -> float:
    return float(max(f[f"{mates}_queue_us"], f[f"{mates}_own_queue_us"]))


def _most_correlated(gap: float) -> float:
    """Correlation up to which delays that far apart belong to two queues."""
    for (near, least), (far, most) in pairwise(APARTS):
        if gap <= far:
            return least + (most - least) * (gap - near) / (far - near)
    return APARTS[-1][1]


def sure(f: Features, mates: str) -> bool:
    """Equal and parallel: neither is chance."""
    alike = _gap(f, mates) <= SURE and _correlation(f, mates) >= SURE_CORRELATED
    alike = alike and _moves_within(f, mates) and _apart(f, mates) < APART
    return alike and not perhaps_in_turn(f, mates)


def alike(f: Features, mates: str) -> bool:
    """The delays are about equal: no evidence of one queue, nor of two."""
    return _gap(f, mates) <= NEARLY_EQUAL and not far_apart(f, mates)


def _moves_within(f: Features, mates: str) -> bool:
    """The delays move together while the path stays the same, too, if it changed at all."""
    within = f[f"{mates}_within"]
    return within is None or within >= WITHIN


def _apart(f: Features, mates: str) -> float:
    return float(f[f"{mates}_apart"] or 0.0)


def _gap(f: Features, mates: str) -> float:
    gap = f[f"{mates}_gap"]
    return 1.0 if gap is None else float(gap)


def _correlation(f: Features, mates: str) -> float:
    return float(f[f"{mates}_corr"] or 0.0)


def words(f: Features, mates: str) -> str:
    """`8 % apart on average, correlation 0.91`."""
    apart = f"{100 * _gap(f, mates):.0f} % apart on average"
    moves = f"{apart}, correlation {_correlation(f, mates):.2f}"
    parts = _apart(f, mates)
    return f"{moves}, ranges apart for {100 * parts:.0f} % of the time" if parts else moves


def turns(f: Features, mates: str) -> str:
    """`flows with packets waiting get equal rates (1 % apart), although their RTTs ...`."""
    rates, rtts = (100 * math.expm1(f[f"{mates}_{what}"]) for what in ("uneven", "unlike"))
    return (
        f"flows with packets waiting get equal rates ({rates:.0f} % apart) although their RTTs "
        f"differ by {rtts:.0f} %"
    )
