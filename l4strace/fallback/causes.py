"""What justifies a score above 8: the AQM, conditions of the path, the build, or nothing."""

from typing import Literal

from l4strace.fallback.conditions import UNCHANGED, Conditions
from l4strace.fallback.place import HIDDEN, SUITED, Place
from l4strace.fallback.recorded import Recorded
from l4strace.prague.constants import DEPTH_REFERENCE_US, MDEV_REFERENCE_US

Cause = Literal[
    "classic AQM",
    "slow link",
    "changed path",
    "overshoot",
    "jitter",
    "long queue",
    "path",
    "scaling bug",
    "nothing",
    "unknown",
]
"""`changed path`: what is known of the AQM is from before the change; `path` is one of several
conditions (PATH_CAUSES) that the packets do not distinguish; `unknown`: the inputs are high, and
whether the AQM is classic is not shown."""

PATH_CAUSES = "jitter, reordering, a slow link, an overshoot or a change of the bottleneck"
"""What raises a correct score behind an L4S AQM: an overshoot for seconds, as it falls slowly."""

SLOW_PACKET_US = 1500.0
"""Time of one packet from which the link itself makes the RTT deviation: 8 Mbit/s. On the corrected
kernel of Greenscreen23/prague-fallback-experiments, DualPI2 is taken for classic in every cell of
4 Mbit/s and in none of 8 Mbit/s."""

SHAKEN_US = 2 * MDEV_REFERENCE_US
"""Jitter from which it alone makes the RTT deviation: `noise` gives half of its range, and a
uniform distribution deviates by a quarter of that."""


def of_recorded(place: Place, score: Recorded, then: Conditions) -> Cause:
    """What justifies a recorded score that was above 8."""
    if place.kind in SUITED:
        return "scaling bug" if score.buggy else "classic AQM"
    if not score.measured:
        return "scaling bug" if score.buggy else "nothing"
    if place.kind == "l4s":
        return of_l4s(place, score.high_mdev_us, then)
    return of_hidden(place, score.high_mdev_us) or "unknown"


def of_l4s(place: Place, mdev_us: float | None, then: Conditions = UNCHANGED) -> Cause:
    """Why a correct detector takes an L4S AQM for a classic one, or a path that has changed."""
    if slow(place) or _wait_for_one_another(place, mdev_us or 0.0):
        return "slow link"
    if cause := of_conditions(then):
        return cause
    if _long_queue(place):
        return "long queue"
    return of_jitter(place)


def of_conditions(then: Conditions) -> Cause | None:
    """What happened while the score was above 8, if that explains it."""
    if then.changed_ns is not None:
        return "slow link" if then.marks and then.packet_us >= SLOW_PACKET_US else "changed path"
    return "overshoot" if then.overshot else None


def of_jitter(place: Place) -> Cause:
    """Jitter, where that alone explains the score."""
    return "jitter" if place.jitter_us >= SHAKEN_US else "path"


def of_hidden(place: Place, mdev_us: float | None) -> Cause | None:
    """What hides the bottleneck and keeps the score up whatever the AQM is, if anything does.

    The time of a packet, unless jitter is as large as the deviation: a queue that grows and shrinks
    with every burst looks like jitter, too.
    """
    if place.kind not in HIDDEN:
        return None
    by_packet = place.link_us >= SLOW_PACKET_US
    shaken = place.jitter_us > place.link_us and (mdev_us or 0.0) <= place.jitter_us
    if slow(place) or (by_packet and not shaken):
        return "slow link"
    return "jitter" if by_packet or place.jitter_us >= MDEV_REFERENCE_US else None


def slow_link(place: Place) -> bool:
    """The time of a packet makes the RTT deviation, and no jitter that is longer."""
    return place.serialisation_us >= max(SLOW_PACKET_US, place.jitter_us)


def slow(place: Place) -> bool:
    """Only of a path that is full all the time the rate, and so the time of a packet, is sure."""
    return slow_link(place) and place.busy is True


def _wait_for_one_another(place: Place, mdev_us: float) -> bool:
    """Packets that wait for one another make the deviation, of at most the time of one.

    A rate alone does not show a slow link: an application may pace its flow, jitter may thin it.
    """
    return slow_link(place) and MDEV_REFERENCE_US <= mdev_us <= place.serialisation_us


def _long_queue(place: Place) -> bool:
    """Half of the time the queue itself, without the noise of the path, is above the threshold."""
    return place.queue_delay_us >= DEPTH_REFERENCE_US + place.noise_us
