"""Where marks set in, and whether they come as those of a step or of a tolerant AQM.

Below the border (`mark_limit_us`) an L4S AQM marks every ECT(1) packet; CoDel, PIE and RED let a
queue stand beyond it and mark a packet now and then.
"""

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
from l4strace.bottleneck.signs import others
from l4strace.core import _native
from l4strace.derive.marked import EVERY_PACKET
from l4strace.derive.queue_features import L4S_MARK_US, PACKETS
from l4strace.wording.quantities import marking_delay

MIN_MARKS = 3
"""Fewer marks, slots or rounds show nothing typical: by eye."""

HIDDEN = 0.5
"""Share of packets that may be marked unseen, from which "no marks" is no finding. By eye: a queue
that marks half of its packets is full."""

CODEL_US = 5000.0
"""Shortest delay at which a classic AQM with usual settings marks: CoDel's target (RFC 8289 section
4.4). Up to it, a packet that waited a little for something else may have passed an L4S AQM."""

FAR_US = _native.FAR_US
"""Distance of two marking delays that no single AQM has: more than CoDel's 5 ms (RFC 8289) with
half of PIE's 15 ms (RFC 8033) to spare. It holds under noise, which delays both flows alike."""

HIGH_PACKETS = 100
"""Packets beyond the border that show how an AQM treats them: a share is known to a tenth."""

SELDOM_MARKED, MOST_MARKED, ALL_MARKED = 0.1, 0.6, 0.95
"""Marked part of those packets. Measured on 320 runs: up to 0.51 behind CoDel, PIE and RED, mostly
below 0.1; 0.73 and more behind steps, mostly all."""

STEPPED = 0.8
"""Part of the queues beyond the shortest marked one that have marks, which shows a step: by eye,
between one (every packet) and the few percent that PI2 marks."""

MARKED_SLOTS_SHARE = 0.2
"""Part of the slots in which other traffic is marked, from which a shallow queue marks it as it
does ECT(1): one overshoot is in one slot, a shared step marks in most. By eye."""

OFTEN_STOPPED = 30
"""Marks from which a flow fills its path, as its window would grow without. Measured: of 130 flows
of ECT(1) packets with as many that never waited beyond the border and the noise, none met a classic
AQM."""

LATE_NOISE_US = 5000.0
"""Noise up to which a late capture shows how even the queue stays. Measured on 78 such directions:
behind classic AQMs the largest delay lies 13 ms and more above the smallest."""

CODEL_INTERVAL_S = 0.1
"""CoDel's shortest usual interval (RFC 8289 section 4.3)."""

UNCOUPLED = 0.35
"""Marked share of ECT(0) packets over that of ECT(1) packets that no coupled dual queue gives: it
marks p^2 of the ones and at least 2p of the others (RFC 9332 section 2.4), a quarter at most.
Measured: up to 0.26 behind DualPI2, from 0.54 behind steps that all share, 0.4 where a capture
holds a third of the ACKs."""

MIN_ECT0_MARKS = 10
"""Marks of ECT(0) packets that show a share: single ones may fall while the flow starts."""

MIN_ECT0_PARTS = 3
"""Tenths of the time with marks of ECT(0) packets from which they show how often: slow start may
send most of a flow's packets, and drives a dual queue to its limit. By eye."""

STEP = "step_thresh of sch_dualpi2.c, CoDel's target (RFC 8289)"
BEGIN = "marks begin {at} of queue delay (threshold {threshold})"


@sign("marks come after the start", "packet", "MIN_MARKS")
def enough(d: Direction) -> Shown:
    return at_least(d.marks, MIN_MARKS)


@sign("some packet was marked")
def some(d: Direction) -> Shown:
    return is_so(d.all_marks > 0)


@sign(
    "ACE may hide marks",
    "share",
    "HIDDEN",
    "ACE, which counts modulo 8, may hide marks of {value} of the packets (threshold {threshold})",
)
def may_hide(d: Direction) -> Shown:
    """Acknowledgements of eight packets and more leave room for eight marks, or sixteen."""
    return at_least(d.possible_share, HIDDEN) & is_so(not d.all_marks and not d.seen_marks)


@sign("marks begin early", "us", STEP, BEGIN)
def early(d: Direction) -> Shown:
    return _worded(d, at_most(d.marking_delay_us, d.mark_limit_us)) & enough(d)


@sign("marks begin beyond the border", "us", STEP, BEGIN)
def about_border(d: Direction) -> Shown:
    return _worded(d, above(d.marking_delay_us, d.mark_limit_us)) & enough(d)


@sign("marks begin late", "us", STEP, BEGIN)
def late(d: Direction) -> Shown:
    """Beyond the border, noise apart; or most packets that wait as long have no mark.

    Others that wait as long at the same time rule out jitter of a few milliseconds.
    """
    noise_apart = _worded(d, above(d.marking_delay_us, d.mark_limit_us + d.noise_us))
    seldom = about_border(d) & seldom_marked(d)
    shared = others.surely_alike(d, d.scalable) | others.surely_alike(d, d.classic)
    far = above(d.marking_delay_us, CODEL_US) | shared
    return (noise_apart | seldom) & far & enough(d)


@sign(
    "jitter hides the queue",
    "us",
    "derive/noise",
    "jitter that adds up to {value} to a delay hides a queue of {threshold}",
)
def jitter_hides(d: Direction) -> Shown:
    return above(d.noise_us, d.marking_delay_us - d.mark_limit_us)


@sign(
    "a mark or two come far beyond the border",
    "us",
    "FAR_US",
    "the first mark comes at {value} of queue delay (threshold {threshold})",
)
def first_far_late(d: Direction) -> Shown:
    """Even one mark shows a classic AQM when it comes this late, or after many packets that had to
    wait as long without one. Of marks on every packet the first only shows when the flow began."""
    limit = d.mark_limit_us + d.noise_us
    rare = below(_of_acked(d), EVERY_PACKET)
    seldom = at_most(_high_share(d), SELDOM_MARKED) & at_least(d.high_acked, HIGH_PACKETS)
    hardly = above(d.first_marking_us, limit) & seldom & is_so(not d.classic_feedback)
    return (above(d.first_marking_us, limit + FAR_US) & is_so(d.marks > 0) & rare) | hardly


@sign(
    "marks began early when the flow started",
    "us",
    STEP,
    "marks began {at} of queue delay when the flow started (threshold {threshold})",
)
def began_early(d: Direction) -> Shown:
    """The queue grew from none then: the first mark came at the step."""
    seen = at_least(d.all_marks, MIN_MARKS) & is_so(d.began)
    return at_most(d.first_marking_us, d.mark_limit_us) & seen


@sign("nearly every packet is marked", "share", "EVERY_PACKET")
def every_packet(d: Direction) -> Shown:
    """However short the queue: marks without a threshold."""
    return at_least(_of_acked(d), EVERY_PACKET) & below(d.queue_delay_us, L4S_MARK_US)


@sign("most packets of long queues are not marked", "share", "MOST_MARKED")
def seldom_marked(d: Direction) -> Shown:
    """Measured on 33 directions whose noise reaches beyond the border: every packet behind a step,
    0.44 of them at most elsewhere."""
    return at_most(_high_share(d), MOST_MARKED) & _counted(d)


@sign("longer queues go without marks")
def tolerated(d: Direction) -> Shown:
    """No step lies below a queue that stood beyond the border with few marks or none."""
    unmarked = at_least(d.high_unmarked, MIN_MARKS)
    own = unmarked if d.classic_feedback else seldom_marked(d)
    shared = others.surely_alike(d, d.scalable) | others.surely_alike(d, d.classic)
    # What zeroes ACE hides the marks of classic flows beside it, too (run s71129-061).
    of_path = at_least(d.path_far_unmarked, MIN_MARKS) & shared & is_so(not d.cleared)
    return own | of_path | at_least(d.far_unmarked, MIN_MARKS)


@sign("no longer queue went unmarked")
def never_tolerated(d: Direction) -> Shown:
    return is_so(tolerated(d).true is not True)


@sign("every packet that waited longer was marked", "share", "ALL_MARKED")
def all_beyond(d: Direction) -> Shown:
    """An L4S AQM does that, and CoDel does not.

    CoDel marks the n-th packet an interval (100 ms or more) over the root of n after the one before
    (RFC 8289 section 5.3): until it marks every packet, it takes two squares of that interval over
    the time of a packet.
    """
    soon = below(d.seconds * d.serialisation_us / 1e6, 2 * CODEL_INTERVAL_S**2)
    return at_least(_high_share(d), ALL_MARKED) & _counted(d) & soon


@sign(
    "every packet that waited longer was marked, and marks began early",
    "share",
    "ALL_MARKED",
    "marks began early, and {value} of the packets that waited longer have one "
    "(threshold {threshold})",
)
def step_below(d: Direction) -> Shown:
    """RED marks all packets as well once its average passed the upper threshold: late."""
    return all_beyond(d) & began_early(d)


@sign(
    "no round trip waited beyond the border and the noise",
    "us",
    "OFTEN_STOPPED",
    "the packets of no round trip waited longer than {value} on average, jitter included "
    "(threshold {threshold})",
)
def never_beyond(d: Direction) -> Shown:
    """In spite of marks. Slow start passes the target of every classic AQM: they wait before they
    mark. In a capture that began late no classic AQM keeps the queue so even."""
    often = at_least(d.marks, OFTEN_STOPPED) & is_so(d.began or d.noise_us <= LATE_NOISE_US)
    return at_most(d.queue_max_us, d.mark_limit_us + d.noise_us) & often


@sign("the smallest RTT may contain queue", "us", STEP)
def hidden_queue(d: Direction) -> Shown:
    """The capture began late. A queue that hides in the smallest RTT is no longer than that RTT."""
    longest = d.marking_delay_us + d.floor_us
    began_late = is_so(not d.began) & is_so(not d.flat)
    return above(longest, d.mark_limit_us) & began_late & ~never_beyond(d)


@sign(
    "queues as long as the first marked one have marks",
    "share",
    "STEPPED",
    "{value} of the round trips that wait as long have marks (threshold {threshold})",
)
def stepped(d: Direction) -> Shown:
    return at_least(d.stepped, STEPPED)


@sign("the link is slow", "us", "PACKETS")
def slow(d: Direction) -> Shown:
    """The time of packets moves the border into the range of classic AQMs."""
    return above(d.mark_limit_us, L4S_MARK_US)


@sign("the link is slow, and far longer queues went unmarked", "round trip", "MIN_MARKS")
def slow_and_tolerated(d: Direction) -> Shown:
    """Marks below the border may then be those of CoDel, unless each packet beyond it has one."""
    each = is_so((at_least(_high_share(d), ALL_MARKED) & _counted(d)).true is not True)
    return at_least(d.far_unmarked, MIN_MARKS) & slow(d) & each


@sign(
    "ECT(0) packets are marked as often as one step marks all",
    "share",
    "UNCOUPLED: RFC 9332 section 2.4",
    "ECT(0) packets are marked {value} as often as ECT(1) packets (threshold {threshold})",
)
def uncoupled(d: Direction) -> Shown:
    """Far more often than a coupled dual queue marks them."""
    seen = at_least(d.ect0_marks, MIN_ECT0_MARKS) & ~is_so(_once(d))
    return at_least(d.ect0_ratio, UNCOUPLED) & seen


@sign(
    "ECT(0) packets are marked far less often than ECT(1) packets",
    "share",
    "UNCOUPLED: RFC 9332 section 2.4",
    "ECT(0) packets are marked {value} as often (threshold {threshold})",
)
def coupled(d: Direction) -> Shown:
    """As a dual queue marks them. Counted by packets; classic feedback understates it."""
    return below(d.ect0_ratio, UNCOUPLED)


@sign_beside("ECT(1) packets are marked early", "us", STEP)
def ect1_early(d: Direction, n: Neighbors) -> Shown:
    """Marks of the direction, or of ECT(1) flows beside it; on no link so slow that CoDel would."""
    if d.marked_as == "ect1":
        return early(d) & ~slow(d)
    seen = at_least(d.scalable.marked_slots, MIN_MARKS) & others.compared(d, d.scalable)
    delay = d.scalable.mark_delay_us
    return at_most(delay, d.mark_limit_us) & seen & ~_as_codel(d, delay)


@sign_beside(
    "ECT(1) traffic is marked early",
    "us",
    STEP,
    "marks of ECT(1) traffic begin {at} of queue delay (threshold {threshold})",
)
def ect1_marked(d: Direction, n: Neighbors) -> Shown:
    return _early(d, n.mark_delay_us, d.mark_limit_us) & at_least(n.marks, MIN_MARKS)


@sign_beside(
    "ECT(1) packets are marked at a far shorter delay than others",
    "us",
    "FAR_US",
    "marks of ECT(1) traffic begin {value} earlier than those of other traffic "
    "(threshold {threshold})",
)
def far_apart(d: Direction, n: Neighbors) -> Shown:
    """Two thresholds, two queues."""
    later = n.mark_delay_us - d.marking_delay_us
    later = later if d.marked_as == "ect1" else -later
    seen = at_least(n.marked_slots, MIN_MARKS) & others.compared(d, n)
    return at_least(later, max(FAR_US, d.noise_us)) & seen & ~others.alike(d, n)


@sign_beside(
    "the lower of the two thresholds is that of an L4S AQM",
    "us",
    STEP,
    "marks of ECT(1) packets begin {at} of queue delay (threshold {threshold})",
)
def lower_early(d: Direction, n: Neighbors) -> Shown:
    if d.marked_as == "ect1":
        return _early(d, d.marking_delay_us, d.mark_limit_us)
    # The direction may have been marked while the path was slow.
    limit = min(d.mark_limit_us, max(L4S_MARK_US, PACKETS * d.serialisation_us))
    return _early(d, n.mark_delay_us, limit)


@sign_beside(
    "the other traffic is marked early, too",
    "us",
    STEP,
    "the other traffic is marked from {value} (threshold {threshold})",
)
def others_early(d: Direction, n: Neighbors) -> Shown:
    """In many moments, and up to twice the border."""
    often = at_least(n.marked_slots, max(MIN_MARKS, MARKED_SLOTS_SHARE * n.slots))
    return at_most(n.mark_delay_us, 2 * d.mark_limit_us) & often


@sign(
    "it is marked and never waits, while others wait for long",
    "us",
    "FAR_US",
    "it is marked and never waits, while others wait up to {value} (threshold {threshold})",
)
def spared(d: Direction) -> Shown:
    """In a queue of its own, what never waits is not marked."""
    low = at_most(d.first_marking_us, d.mark_limit_us) & at_most(d.queue_max_us, d.mark_limit_us)
    known = is_so(d.met_peak and (d.began or d.flat))
    return above(d.path_max_us, d.mark_limit_us + d.noise_us + FAR_US) & low & known


def _once(d: Direction) -> bool:
    """ECT(0) packets were marked in one or two moments."""
    return not d.cleared and d.ect0_parts < MIN_ECT0_PARTS


def _as_codel(d: Direction, delay_us: float) -> Shown:
    """On a slow link the border is no shorter than what CoDel marks from."""
    return slow(d) & above(delay_us, CODEL_US)


def _counted(d: Direction) -> Shown:
    """Marks of packets beyond the border are known one by one."""
    return at_least(d.high_acked, HIGH_PACKETS) & is_so(not d.classic_feedback)


def _of_acked(d: Direction) -> float:
    return d.marks / d.acked if d.acked else nan


def _high_share(d: Direction) -> float:
    return d.high_marks / d.high_acked if d.high_acked else nan


def _early(d: Direction, delay_us: float, limit_us: float) -> Shown:
    return _worded(d, at_most(delay_us, limit_us)) & ~_as_codel(d, delay_us)


def _worded(d: Direction, shown: Shown) -> Shown:
    """With the delay at which marks set in no more precise than the capture shows it."""
    if not shown.true:
        return shown
    known = {"serialisation_us": d.serialisation_us, "noise_us": d.noise_us}
    row = {name: value for name, value in known.items() if not isnan(value)}
    return shown._replace(words=marking_delay(row | {"marking_delay_us": shown.value}))
