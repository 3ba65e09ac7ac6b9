"""Whether the flows of one class beside the direction wait in the same queue.

One queue delays all packets of a moment alike: the delays of two flows are equal at any time, not
merely parallel. Flows with a queue each may move together too: they share the rate, so both
queues grow when a flow joins, and CoDel holds them near one target. Measured on 481 flows of 176
emulated paths: a gap of 0.25 or less with a correlation of 0.7 or more had 229 of 313 in one queue
and 2 of 168 with a queue each; with 0.5 or more it was 242 and 13. A path that changes moves all
its queues: the delays must then be alike in each of its phases.

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

from itertools import pairwise
from math import isnan, nan

from l4strace.bottleneck.evidence import Direction, Neighbors
from l4strace.bottleneck.sign import (
    Shown,
    above,
    at_least,
    at_most,
    below,
    is_so,
    sign,
    sign_beside,
)
from l4strace.derive.noise import REORDERED

MIN_SLOTS = 10
"""Slots shared with another flow from which the two are compared: with 10, a correlation beyond
0.63 is chance in 5 % of cases, with 4 one beyond 0.95."""

MIN_CLEAR = 3
"""Slots, marks or flows that show something so large that no chance makes it. By eye."""

EQUAL, ALIKE, NEARLY = 0.1, 0.25, 0.3
"""Mean gap between two delays, in parts of the longer one, that one queue leaves. See above."""

MOVES, MOVES_NEARLY = 0.7, 0.6
"""Correlations that bear out the second and the third gap. See above."""

WITHIN = 0.5
"""Correlation within the phases of a path. Measured on 31 flows in one queue of paths that change:
0.50 and more; with a queue each, 12 flows at most 0.49."""

APART = 0.05
"""Part of the slots whose waits do not meet, from which flows are not in one queue: see above."""

APARTS = ((0.15, 0.2), (0.5, 0.5), (0.7, 0.8))
"""Gap from, and correlation up to which, flows have a queue each: the farther apart, the less their
moves count. In proportion between these points."""

LONGER_PATH = 0.5
"""Part of the difference of two delays that a longer path explains, if the longer delay never fell
below it. Measured on 17 directions with a queue each: the flow that waited longer had once waited
less by 3/4 of the difference or more."""

BORDERS = 2
"""Multiple of the border that CoDel's 5 ms (RFC 8289) and four packets lie within."""

EVEN, UNEVEN = 0.08, 0.5
"""Difference of rates (logarithm, root mean square) up to which fair queueing shares the path out,
and from which it does not: see above."""

FEW_WAITING, FAR_UNEVEN = 5, 3.0
"""Slots in which both have packets waiting, and the difference of their rates (one gets 20 times as
much) that show no fair queueing however few the slots. Measured: 22 directions so with 5 to 9
slots, none of them with a queue each."""

UNLIKE, TIMES = 0.07, 3.0
"""Difference of the RTTs (logarithm, root mean square), itself and as a multiple of that of the
rates, from which the windows differ and equal rates are no coincidence: see above."""

ISOLATED_RATIO, ISOLATED_US = 3.0, 1000.0
"""A queue three times longer plus 1 ms is not the queue that the other flow waits in. By eye,
between DualPI2's targets of 15 ms and 1 ms (RFC 9332 appendix A.1)."""

AGREES, CONTRADICTS = 0.8, 0.15
"""Part of the slots in which a flow began that has to agree, and that may contradict. By eye."""


@sign_beside("other traffic is there long enough to compare", "slot", "MIN_SLOTS")
def compared(d: Direction, n: Neighbors) -> Shown:
    return at_least(n.slots, MIN_SLOTS)


@sign_beside("one of the two waits longer than the noise", "us", "derive/noise, time of a packet")
def waited(d: Direction, n: Neighbors) -> Shown:
    """Noise moves the delay of each flow on its own, and so does the packet that is being sent."""
    least = max(d.noise_us, _packet_us(d))
    return (above(_longest(n), least) | surely_alike(d, n)) & compared(d, n)


@sign_beside(
    "the other traffic waits as long at the same time",
    "share",
    "ALIKE",
    says="the other traffic waits as long at the same time (delays {value} apart on average, "
    "threshold {threshold})",
)
def surely_alike(d: Direction, n: Neighbors) -> Shown:
    """Equal and parallel: neither is chance."""
    equal = at_most(n.gap, ALIKE) & at_least(n.corr, MOVES)
    together = at_least(n.slots, MIN_SLOTS) & _steady(n) & _meet(n)
    return equal & together & ~perhaps_in_turn(d, n)


@sign_beside(
    "the other traffic waits about as long at the same time",
    "share",
    "NEARLY",
    says="the other traffic waits as long at the same time (delays {value} apart on average, "
    "threshold {threshold})",
)
def alike(d: Direction, n: Neighbors) -> Shown:
    """RED whose queue swings faster than the slots leaves no correlation, but hardly a gap."""
    nearly = at_most(n.gap, NEARLY) & at_least(n.corr, MOVES_NEARLY) & _steady(n)
    # Flows with a queue each wait alike, too, where CoDel holds each or a packet or two fill it.
    equal = at_most(n.gap, EQUAL) & above(_longest(n), BORDERS * d.mark_limit_us)
    return (equal | nearly) & _meet(n) & ~perhaps_in_turn(d, n)


@sign_beside("the delay of the other traffic differs", "share", "APARTS")
def apart(d: Direction, n: Neighbors) -> Shown:
    """The delays differ, and move on their own."""
    gap = above(n.gap, APARTS[0][0]) & at_most(n.corr, _most_correlated(n.gap))
    return gap & ~longer_path(d, n)


@sign_beside("one of the two may only have a longer path", "us", "LONGER_PATH")
def longer_path(d: Direction, n: Neighbors) -> Shown:
    """It never waited less. The first packet of a flow finds a queue of its own empty."""
    differ = abs(n.own_queue_us - n.queue_us)
    own = n.own_queue_us > n.queue_us
    least = d.floor_us - d.base_us if own else n.least_us
    return at_least(least, LONGER_PATH * differ) & above(differ, 0.0)


@sign_beside(
    "flows with packets waiting get equal rates although their RTTs differ",
    "share",
    "EVEN, UNLIKE",
    says="flows with packets waiting get equal rates ({value} apart, threshold {threshold}) "
    "although their RTTs differ",
)
def in_turn(d: Direction, n: Neighbors) -> Shown:
    """Fair queueing: the rates are equal although the RTTs, and so the windows, are not."""
    unlike = at_least(n.unlike, max(UNLIKE, TIMES * n.uneven))
    return at_most(n.uneven, EVEN) & unlike & _both_waiting(n)


@sign_beside("flows get rates that one queue hardly ever gives", "share", "EVEN, UNLIKE")
def perhaps_in_turn(d: Direction, n: Neighbors) -> Shown:
    shown = at_most(n.uneven, EVEN) & at_least(n.unlike, UNLIKE) & _both_waiting(n)
    return is_so(shown.true is True)


@sign_beside("the flows do not get equal rates, as queues of their own would give")
def out_of_turn(d: Direction, n: Neighbors) -> Shown:
    """Noise that is longer than the queues may be all that they wait for."""
    unequal = at_least(n.uneven, UNEVEN) & _both_waiting(n) & above(_shortest(n), d.noise_us)
    few = at_least(n.uneven, FAR_UNEVEN) & at_least(n.waiting, FEW_WAITING)
    return unequal | few


@sign_beside(
    "the other traffic waits far longer",
    "us",
    "ISOLATED_RATIO",
    says="the other traffic waits {value} in a queue of its own (threshold {threshold})",
)
def wait_longer(d: Direction, n: Neighbors) -> Shown:
    """A window of a packet or two waits for delayed ACKs, which is no queue."""
    return _isolated(d, n.own_queue_us, n.queue_us) & at_least(n.slots, MIN_SLOTS)


@sign_beside(
    "the other traffic waits far less",
    "us",
    "ISOLATED_RATIO",
    "this flow waits {value}, the other traffic far less (threshold {threshold})",
)
def wait_less(d: Direction, n: Neighbors) -> Shown:
    """A packet that overtook the others makes all others seem to wait."""
    overtook = at_least(d.late_share, REORDERED) & is_so(not d.flat)
    shown = _isolated(d, n.queue_us, n.own_queue_us) & at_least(n.slots, MIN_CLEAR)
    return shown & ~longer_path(d, n) & ~overtook


@sign("flows that began meanwhile waited as long", "share", "AGREES, CONTRADICTS")
def first_packets_wait(d: Direction) -> Shown:
    """One queue delays the first packet of a flow as long as any other that arrives then."""
    met, passed = _of(d.first_met, d.first_slots), _of(d.first_passed, d.first_slots)
    enough = at_least(d.first_slots, MIN_CLEAR)
    return at_least(met, AGREES) & at_most(passed, CONTRADICTS) & enough


@sign(
    "flows that began meanwhile did not wait",
    "share",
    "AGREES, CONTRADICTS",
    "{value} of the flows that began meanwhile did not wait (threshold {threshold})",
)
def first_packets_pass(d: Direction) -> Shown:
    """A queue per flow is empty for a new one, which fair queueing serves next (sch_fq_codel.c).

    Were the path of those flows shorter than the smallest RTT shows, they would pass at a distance
    that stays the same.
    """
    met, passed = _of(d.first_met, d.first_slots), _of(d.first_passed, d.first_slots)
    enough = at_least(d.first_slots, MIN_CLEAR) & above(d.first_apart_us, 0.0)
    return at_least(passed, AGREES) & at_most(met, CONTRADICTS) & enough


@sign_beside(
    "the other traffic cannot be marked, and waits less",
    "us",
    "the wait of the flow itself",
    "the other traffic cannot be marked, and waits {value} (threshold {threshold})",
)
def unmarkable_beside(d: Direction, n: Neighbors) -> Shown:
    """What cannot be marked and waits no longer shows no second queue."""
    least = max(n.own_queue_us, d.marking_delay_us)
    none = is_so(n.ect0 == 0) & compared(d, n)
    return below(n.queue_us, least) & none


@sign_beside("the other traffic waits no less", "us", "least")
def waits_no_less(d: Direction, n: Neighbors) -> Shown:
    """What cannot be marked and waits less shows no second queue."""
    return is_so(d.marked_as != "not_ect") | wait_less(d, n)


def _of(part: float, whole: float) -> float:
    return part / whole if whole else nan


def _longest(n: Neighbors) -> float:
    return max(n.queue_us, n.own_queue_us)


def _shortest(n: Neighbors) -> float:
    return min(n.queue_us, n.own_queue_us)


def _both_waiting(n: Neighbors) -> Shown:
    return at_least(n.waiting, MIN_SLOTS)


def _steady(n: Neighbors) -> Shown:
    """They move together while the path stays the same, too, if it changed at all."""
    return is_so(isnan(n.within)) | at_least(n.within, WITHIN)


def _meet(n: Neighbors) -> Shown:
    return is_so(isnan(n.apart)) | below(n.apart, APART)


def _most_correlated(gap: float) -> float:
    """Correlation up to which delays that far apart belong to two queues."""
    for (near, least), (far, most) in pairwise(APARTS):
        if gap <= far:
            return least + (most - least) * (gap - near) / (far - near)
    return APARTS[-1][1]


def _isolated(d: Direction, short: float, long: float) -> Shown:
    """Delay ``long`` is far above delay ``short``, noise and a packet apart."""
    least = min(short, d.noise_us)
    far = above(long, ISOLATED_RATIO * (short - least) + ISOLATED_US + 2 * least)
    return far & above(long - short, _packet_us(d))


def _packet_us(d: Direction) -> float:
    return 0.0 if isnan(d.serialisation_us) else d.serialisation_us
