"""What the fallback does: from the kernel's log where there is one, else from the packets."""

from l4strace.derive.senders.laws import DEEP_WINDOW_PACKETS
from l4strace.fallback.causes import (
    Cause,
    of_conditions,
    of_hidden,
    of_jitter,
    of_l4s,
    of_recorded,
    slow_link,
)
from l4strace.fallback.conditions import Conditions
from l4strace.fallback.place import SUITED, Place, confidence
from l4strace.fallback.recorded import MIN_SHARE, Recorded
from l4strace.fallback.replayed import Replayed
from l4strace.fallback.response import Response
from l4strace.fallback.row import Row, Verdict
from l4strace.model import Confidence
from l4strace.prague.constants import MDEV_REFERENCE_US

MOSTLY = 0.5
"""Share of the time above 8 from which a correct detector would have acted; one that acts all the
time although it is less does so for another reason."""

MISSED = 0.3
"""Share of steps above 8 up to which an AQM is missed: by eye; a score that flaps spends half of
its time there, a detector that works nearly all."""

UNKNOWN = Verdict("unknown")


def verdict(seen: Row) -> Verdict:
    """The log knows; packets are asked where it does not show a score, or that there is none."""
    if seen.recorded:
        return _of_score(seen, seen.recorded)
    if seen.sampled and seen.sampled.score_max is not None:
        return Verdict("idle", None, "log", Confidence.HIGH)
    if seen.sampled and seen.sampled.without_score:
        return Verdict("absent", None, "log", Confidence.MEDIUM)
    if seen.sampled and seen.sampled.probed:
        return UNKNOWN
    return of_packets(seen.place, seen.response, seen.replayed, seen.then)


def _of_score(seen: Row, score: Recorded) -> Verdict:
    if not score.high:
        return Verdict("idle", None, "log", Confidence.HIGH)
    cause = of_recorded(seen.place, score, seen.then)
    # Nothing is reduced by a score that is only observed, nor where no mark comes.
    idle = seen.use.unmarked or seen.use.only_observes
    sure = _sure(seen.place, score, cause)
    # What packets alone would show, a log does not make less sure.
    sure = max(sure, Confidence.MEDIUM) if seen.use.acts and seen.place.kind == "l4s" else sure
    return Verdict("observes" if idle else "acts", cause, "log", sure)


def _sure(place: Place, score: Recorded, cause: Cause) -> Confidence:
    """ECT(1) flows alone do not show whether a queue marks all flows early, or is an L4S AQM.

    The time of a packet explains a score on a slow link whatever the AQM is.
    """
    if cause in ("nothing", "scaling bug"):
        return Confidence.HIGH if place.proven_l4s else Confidence.MEDIUM
    if cause == "classic AQM":
        return confidence(place.confidence)
    if cause == "changed path":
        return Confidence.MEDIUM
    if place.kind != "l4s":
        return Confidence.LOW
    slow = cause == "slow link"
    if not place.proven_l4s:
        return Confidence.MEDIUM if slow else Confidence.LOW
    return Confidence.HIGH if slow and score.fixed_share > 0 else Confidence.MEDIUM


def of_packets(
    place: Place, response: Response | None, score: Replayed | None, then: Conditions
) -> Verdict:
    """How the sender reduces shows what the fallback does; else the score shows what it would."""
    shown = _of_response(place, response, score, then) if response else None
    return shown or _would_be(place, score, then)


def _of_response(
    place: Place, response: Response, score: Replayed | None, then: Conditions
) -> Verdict | None:
    """What the reductions show; null where they leave it open."""
    least = score.time if score else 0.0
    if response.at_the_floor:
        return _acting(place, response, score, then)
    if response.deep:
        return Verdict("unknown", None, None, Confidence.MEDIUM)
    if _idle(place, response, least):
        return Verdict("idle", None, "packets", Confidence.MEDIUM)
    if response.at_times and place.kind == "l4s" and _slow(place, least):
        return Verdict("acts", "slow link", "packets", Confidence.MEDIUM)
    return UNKNOWN if response.shown else None


def _idle(place: Place, response: Response, least: float) -> bool:
    """Reductions follow alpha/2; behind a queue that all flows share it is enough that most do."""
    if response.law == "alpha/2":
        return response.shown or least < MIN_SHARE
    return place.shared and response.mostly_half_alpha


def _would_be(place: Place, score: Replayed | None, then: Conditions) -> Verdict:
    """Why a correct detector, if there is one, takes the path for classic."""
    if score is None or score.time < MISSED:
        return UNKNOWN
    if place.kind == "l4s":
        return Verdict("unknown", of_l4s(place, score.mdev_us, then))
    deviates = score.mdev_us >= MDEV_REFERENCE_US
    return Verdict("unknown", of_hidden(place, score.mdev_us) if deviates else None)


def _acting(place: Place, response: Response, score: Replayed | None, then: Conditions) -> Verdict:
    """The floor explains the window: right behind a classic AQM, else because of build or path."""
    cause = _of_floor(place, response, score, then)
    # Simulated run s9601-104: three flows with windows of 4 packets and alpha/2 of 11 %.
    if cause == "nothing" and not response.apart:
        return UNKNOWN
    if response.unsure:
        sure = Confidence.LOW
    elif cause == "nothing" and _plain(place, response, score):
        sure = Confidence.HIGH
    else:
        sure = Confidence.MEDIUM
    return Verdict("acts", cause, "packets", sure)


def _plain(place: Place, response: Response, score: Replayed | None) -> bool:
    """The window is large enough to show how deep a reduction is, and no score explains a deep one.

    In a window of a few packets rounding hides it: large reductions by alpha/2 look like the floor.
    Simulated run s8104-144, a window of 4 packets at alpha/2 of 18 %.
    """
    deep = response.window_packets >= DEEP_WINDOW_PACKETS
    return place.proven_l4s and deep and score is not None and score.never_above


def _of_floor(place: Place, response: Response, score: Replayed | None, then: Conditions) -> Cause:
    if place.kind in SUITED:
        return "classic AQM"
    l4s, least = place.kind == "l4s", score.time if score else 0.0
    seldom = score and (score.never_above or (l4s and score.time_most <= MOSTLY))
    if response.references == "wrong" and seldom:
        return "nothing"
    if not l4s or least < MIN_SHARE:
        return "unknown"
    slow = "slow link" if _slow(place, least) else of_conditions(then)
    return slow or of_jitter(place)


def _slow(place: Place, least: float) -> bool:
    """The time of a packet explains the score; a path that is never full may be faster."""
    return place.filled is not False and slow_link(place) and least >= MIN_SHARE
