"""What losses and delays show of a queue that leaves no mark."""

from math import isnan

from l4strace.bottleneck.evidence import Direction
from l4strace.bottleneck.sign import Shown, above, at_least, at_most, below, is_so, sign
from l4strace.core import _native
from l4strace.derive.behind import MOSTLY
from l4strace.derive.neighbors import FRAME_BYTES
from l4strace.wording.quantities import quantity

QUEUE_US = _native.QUEUE_US
"""Queue delay from which a queue stands, where nothing is marked: as `measure/full.rs` has it."""

DEEP_US = _native.DEEP_US
"""Queue delay from which a queue stands that gets neither a mark nor a loss (`measure/own.rs`)."""

UNANSWERED_US = 20_000.0
"""Queue delay of a tenth of the rounds from which an AQM with ECN would have marked: PIE holds the
average at 15 ms (RFC 8033), the longest target in use. Slow start passes every AQM once."""

MIN_LOST_ROUNDS = 3
"""Rounds with losses from which their delays are compared. By eye."""

MOST_AT_ONCE = 10
"""Packets lost per round with losses up to which they may be lost at random: a buffer that
overflows in slow start loses a large part of a flight, after which the RTT may be short. By eye."""

CONGESTED = 0.5
"""Part of the packets with marks, or of the path's losses with a queue, from which an AQM or a full
buffer is the cause of losses: DualPI2 drops when a rival overloads it that ignores marks
(drop_overload of sch_dualpi2.c). By eye."""

SAME_HEIGHT, CEILING = 0.8, 0.8
"""Lower tenth of the delays at loss, as part of the upper tenth, from which losses come at one
height; and that as part of the largest delay of the path, from which it is the full buffer.
Measured behind a FIFO: 0.95 and from 0.83; behind PIE and RED without a mark: 0.4 to 0.6; behind
CoDel, which lets slow start through before it drops at an even height, the second is up to 0.3."""

MIN_FULL, MIN_BELOW = 5, 8
"""Rounds with losses at one height that are more than one overflow: it is looked for in a round and
the two before it, so one gives three or four. Below the largest delay that shows an AQM it takes
more: a FIFO whose rate changes drops at a few different delays."""

LOST_PER_ROUND = 1.2
"""Packets lost per round with losses, from which a buffer overflowed. Measured on 430 directions
without a mark: 1.25 and more behind a FIFO that drops at one height, 1.0 to 1.03 behind CoDel whose
drops come at one height, too (flows that grow alike reach the same delay in its interval)."""

BELOW = 0.6
"""Delay at loss as part of the largest delay, under which an AQM dropped before the buffer was
full: half-way to the smallest share measured behind a FIFO."""

ONE_RATE = 0.1
"""How far groups of drops lie off one line of what passed, in parts of what passes between two: the
bucket of a policer is empty at each. Measured: 0.01 to 0.1 at policers whose bucket holds what a
round trip carries; 0.11 to 3.8 where packets are lost at random on a path that is not full."""

DROP_GROUP = 2
"""Packets of the middle group of drops: what is lost at random is lost one by one (measured: 1 to
1.5 packets), a sender that meets a policer sends above its rate for a round trip (2 to 16)."""

ROOM_PACKETS = 2.0
"""Packets that the shortest buffer holds: one is sent, one waits."""

SACK_HELD_US = 1000.0
"""Longest that a receiver keeps back what it reports of packets behind a hole (Linux:
tcp_comp_sack_delay_ns): delays around losses contain it, others do not."""

SELDOM_QUEUED = 0.1
"""Part of the path's losses at 10 ms of queue or more, up to which there is no buffer. By eye:
at most 0.07 behind 22 of 24 simulated policers, 0.33 behind a DualPI2 whose marks a path erased."""

STANDS = "D0 of tcp_prague.c, and the time of packets"


@sign(
    "what passes between groups of drops has one rate",
    "share",
    "ONE_RATE: Flach et al., SIGCOMM 2016",
    "between groups of drops passes one rate ({value}, threshold {threshold})",
)
def one_rate(d: Direction) -> Shown:
    """However senders rise and fall meanwhile: a policer lets pass what its bucket was given."""
    words = f"{quantity(d.policed_bps, 'bit/s')}, {quantity(d.policed_uneven, 'share')} off"
    return at_most(d.policed_uneven, ONE_RATE)._replace(words=words)


@sign(
    "packets are dropped in groups",
    "packet",
    "DROP_GROUP",
    "in groups ({value} in the middle one, threshold {threshold})",
)
def in_groups(d: Direction) -> Shown:
    return at_least(d.group_lost, DROP_GROUP)


@sign("no buffer of that rate is there", "us", "ROOM_PACKETS, SACK_HELD_US, SELDOM_QUEUED")
def no_room(d: Direction) -> Shown:
    """Not even two packets wait for each other where this flow or another one loses packets."""
    room_us = ROOM_PACKETS * FRAME_BYTES * 8e6 / d.policed_bps
    held_us = SACK_HELD_US if d.queue_high_us < room_us else 0.0
    return below(d.lost_us, room_us + held_us) & at_most(d.path_queued_losses, SELDOM_QUEUED)


@sign("packets are retransmitted", "packet", "any", "{value} retransmitted after the start")
def some(d: Direction) -> Shown:
    return at_least(d.lost, 1) & at_least(d.lost_us, 0.0)


@sign(
    "most packets are lost before the capture",
    "packet",
    "any",
    "at least {value} lost before the capture point, whose queue is not seen here",
)
def before(d: Direction) -> Shown:
    """Behind a queue, as at the egress of a router or a host, their first copy never passes."""
    return at_least(d.lost_before, 1) & is_so(d.lost_before >= MOSTLY * d.losses)


@sign("no packet is lost")
def none(d: Direction) -> Shown:
    return is_so(d.lost == 0)


@sign(
    "no queue stands around them", "us", STANDS, "at {value} of queue delay (threshold {threshold})"
)
def without_queue(d: Direction) -> Shown:
    return below(d.lost_us, standing_us(d))


@sign(
    "a queue stands around them", "us", STANDS, "at {value} of queue delay (threshold {threshold})"
)
def with_queue(d: Direction) -> Shown:
    return at_least(d.lost_us, standing_us(d))


@sign("no long queue is there", "us", "DEEP_US")
def shallow(d: Direction) -> Shown:
    return below(d.queue_high_us, DEEP_US)


@sign(
    "every loss comes at the full queue",
    "us",
    "SAME_HEIGHT, CEILING, LOST_PER_ROUND",
    "always at the full queue ({value}, threshold {threshold})",
)
def always_full(d: Direction) -> Shown:
    """A buffer drops what does not fit: it stays full until the senders notice, a round trip later,
    and drops several packets by then; CoDel drops one and waits (RFC 8289 section 3.3)."""
    own = d.lost_rounds >= MIN_FULL
    # Few losses of its own: those of all flows of the path.
    high = d.lost_high_us if own else d.path_lost_high_us
    several = at_least(d.path_lost, LOST_PER_ROUND * d.path_lost_rounds)
    enough = at_least(d.lost_rounds if own else d.path_lost_rounds, MIN_FULL)
    return at_least(high, CEILING * d.path_max_us) & enough & several & _one_height(d)


@sign("losses come below the largest delay", "us", "BELOW")
def below_largest(d: Direction) -> Shown:
    return at_most(d.lost_us, BELOW * d.top_us) & at_least(d.lost_rounds, MIN_BELOW)


@sign(
    "every loss comes with a queue far below the largest delay",
    "us",
    "BELOW",
    "at {value} of queue delay, far below the largest (threshold {threshold})",
)
def never_full(d: Direction) -> Shown:
    """Losses without a queue are random, and a buffer drops at its largest delay, unless the rate
    of the path changes."""
    queued = at_least(min(d.lost_low_us, d.path_lost_low_us), standing_us(d))
    return at_most(d.path_lost_high_us, BELOW * d.path_max_us) & queued & is_so(d.phases == 1)


@sign("a queue stands most of the time", "us", STANDS)
def standing(d: Direction) -> Shown:
    return at_least(d.queue_delay_us, standing_us(d))


@sign(
    "the RTT is flat",
    "us",
    STANDS,
    "a flat RTT (at most {value} of queue delay, threshold {threshold})",
)
def flat(d: Direction) -> Shown:
    return below(d.queue_max_us, standing_us(d))


@sign(
    "jitter hides a queue",
    "us",
    "derive/noise",
    "jitter that adds up to {value} to a delay hides a queue (threshold {threshold})",
)
def jitter(d: Direction) -> Shown:
    return above(d.noise_us, QUEUE_US)


@sign("no flow of the path was marked or lost a packet")
def quiet_path(d: Direction) -> Shown:
    marked, lost = max(d.path_marks, d.seen_marks), max(d.path_losses, d.seen_losses)
    return is_so(not marked and not lost)


@sign(
    "a long queue without a mark or a loss",
    "us",
    "UNANSWERED_US",
    "up to {value} of queue delay without a mark or a loss (threshold {threshold})",
)
def unanswered(d: Direction) -> Shown:
    return at_least(d.queue_high_us, UNANSWERED_US)


@sign("losses come without a queue", "us", STANDS)
def idle(d: Direction) -> Shown:
    """In several rounds, few at once, most of them without a queue.

    Noise may blur a queue of some milliseconds, not one of many. Where every second packet is
    marked, the path is congested however short its queue is, and an overloaded AQM drops; so does a
    full buffer that other flows of the path filled. What loses at random loses those of all alike.
    Where the path erases marks, nobody answers an AQM, which then drops at short delays as well.
    """
    seldom = SELDOM_QUEUED if d.erased else CONGESTED
    congested = is_so(d.marks > CONGESTED * d.acked) | above(d.path_queued_losses, seldom)
    congested |= before(d)
    of_path = at_least(d.path_lost_us, standing_us(d))
    few = at_most(d.losses, MOST_AT_ONCE * d.lost_rounds)
    several = at_least(d.lost_rounds, MIN_LOST_ROUNDS)
    short = below(d.lost_us, min(standing_us(d), DEEP_US))
    return short & few & several & ~congested & ~of_path


def standing_us(d: Direction) -> float:
    """Delay from which a queue stands: not noise, and not packets under way on a slow link."""
    packet = 0.0 if isnan(d.serialisation_us) else d.serialisation_us
    return max(QUEUE_US + packet, 2 * packet) + d.noise_us


def _one_height(d: Direction) -> Shown:
    """The direction and its path lose packets at one queue delay, each where it lost enough."""
    own = at_least(d.lost_low_us, SAME_HEIGHT * d.lost_high_us)
    of_path = at_least(d.path_lost_low_us, SAME_HEIGHT * d.path_lost_high_us)
    few, path_few = (is_so(n < MIN_FULL) for n in (d.lost_rounds, d.path_lost_rounds))
    return (own | few) & (of_path | path_few)
