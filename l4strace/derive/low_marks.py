"""What limits a flow direction whose marks come at the delay of an L4S AQM.

Other flows of the path show whether that AQM has a second queue for them (L4S), treats them alike
in one queue (a shallow step), or gives every flow a queue.
"""

from __future__ import annotations

from l4strace.derive import border, sharing, step_shape
from l4strace.derive.border import HALF, HARDLY, MIN_HIGH, MIN_PACKETS
from l4strace.derive.queue_features import L4S_MARK_US
from l4strace.derive.unmarked import (
    OWN_MARKS,
    PARTLY,
    SEEN_BY_OTHERS,
    TWO_QUEUES,
    Features,
    Verdict,
)
from l4strace.schema.words import CLASSIC_OR_PER_FLOW
from l4strace.wording.quantities import quantity

STEPPED = 0.8
"""Part of the classic queues beyond the shortest marked one that have marks, which shows a step: by
eye, between one (every packet) and the few percent that PI2 marks."""

MIN_MARKS = 3
"""Fewer marks have no typical delay. By eye."""

MOMENT_S = 5.0
"""Length of a direction from which marks in one tenth of its time only do not stand for the rest.
By eye: shorter ones are slow start and little more."""

CODEL_US = 5000.0
"""Shortest delay at which a classic AQM with usual settings marks: CoDel's target (RFC 8289 section
4.4). Up to it, a packet that waited a little for something else may have passed an L4S AQM."""

ALSO_MARKED = 2
"""Multiple of the L4S threshold up to which classic packets share the marking queue. By eye."""

SELDOM, OFTEN_MARKED = 0.1, 0.2
"""Share of the slots in which classic packets are marked, from which a shallow queue marks them as
it does ECT(1), and up to which it does not. By eye: one overshoot is in one slot, a shared step
marks in most."""

UNHEARD = "the path clears the feedback of classic traffic, so nothing shows how that is marked"

OFTEN = 0.5
"""Part of the slots in which ECT(1) packets are marked, and are so at less than half the rate of
others, that no chance makes: most."""

TOGETHER = 0.5
"""Slots with marks of the one flow, as part of those of the other, from which one step marks both:
by eye, a dual queue's PI2 marks far less often than its step."""


def verdict(f: Features) -> Verdict:
    """The kind that marks at a delay below the border show."""
    limit = f["mark_limit_us"]
    # A queue that hides in the smallest RTT is no longer than that RTT.
    hidden = 0.0 if f["began"] or f["flat"] else f["floor_us"]
    if f["marking_delay_us"] + hidden > limit and not step_shape.never_beyond(f):
        return _marked_in_the_shorter(f) or border.unknown(
            "Cannot be determined: the capture began late, and the smallest RTT that it holds may "
            "already contain queue."
        )
    if f["marked_as"] != "ect1" and (verdict := _not_ect1_shallow(f)):
        return verdict
    if f["marked_as"] != "ect1":
        if slow(f):
            return border.unknown(
                f"Cannot be determined: {border.lower(border.at(f))}, the time of a few packets: "
                "the link is too slow to distinguish a shallow AQM from a classic one."
            )
        often = f["marked_rounds"] >= OFTEN * f["rounds"]
        if f["classic_feedback"] and often and not sharing.compared(f, "scalable"):
            return border.unknown(
                "Cannot be determined: ECE comes back in most round trips, whatever the queue."
            )
        if step_shape.all_beyond(f):
            others = f"{border.at(f)} for packets that are not ECT(1)"
            return "shallow", OWN_MARKS, f"{others}. Every packet that waited longer was marked."
        if f["marking_median_us"] <= ALSO_MARKED * limit + f["noise_us"]:
            if (f["stepped"] or 0.0) < STEPPED:
                return border.unknown(
                    f"Cannot be determined: {border.lower(border.at(f))}, and longer queues often "
                    "get none."
                )
            return "shallow", OWN_MARKS, f"{border.at(f)} for packets that are not ECT(1)."
        return (
            "classic",
            PARTLY,
            f"{border.at(f)}, mostly at {quantity(f['marking_median_us'], 'us')}.",
        )
    if f["marked_parts"] <= 1 and f["seconds"] >= MOMENT_S:
        return border.unknown(
            f"Cannot be determined: all marks fell within a tenth of the {f['seconds']:.0f} s."
        )
    if slow(f) and (f["far_unmarked"] >= MIN_HIGH or _as_late_as_codel(f)):
        return border.unknown(
            f"Cannot be determined: {border.lower(border.at(f))}, but far longer queues went "
            "unmarked."
        )
    return _step(f, OWN_MARKS)


def behind_noise(f: Features) -> Verdict | None:
    """Noise moved the marks past the border, yet no queue stood beyond it without them."""
    if f["marked_as"] != "ect1":
        return None
    if step_shape.moved_step(f):
        shown = "Round trips that wait as long have marks, hardly any waits longer: a step."
    elif step_shape.all_beyond(f):
        shown = "Every packet that waited longer was marked."
    elif step_shape.never_beyond(f):
        longest = quantity(f["queue_max_us"], "us")
        since = "slow start and jitter" if f["began"] else "jitter"
        shown = f"No round trip waited longer than {longest}, {since} included."
    else:
        return None
    kind, confidence, reason = _step(f, PARTLY)
    return kind, confidence, f"{reason} {shown}"


def _step(f: Features, alone: float) -> Verdict:
    """Marks of ECT(1) packets at a step, with confidence ``alone`` where nobody else is there."""
    if sharing.compared(f, "classic"):
        return _beside_classic(f)
    if border.uncoupled(f):
        return "shallow", PARTLY, f"{border.at(f)}; {border.alike(f)}."
    return "l4s", alone, f"{border.at(f)}; no classic flow shows how the AQM treats others."


def marked_instead(f: Features) -> Verdict | None:
    """Marks for ECT(1), hardly any for ECT(0) packets that get twice its rate: other treatment.

    One queue would mark the faster flow more often, and one per flow gives equal rates.
    """
    if f["marked_as"] != "ect1" or not sharing.compared(f, "classic"):
        return None
    ect0 = f["classic_ect0"] > HALF * f["classic_slots"]
    often = f["classic_own_marked"] >= OFTEN * f["classic_slots"]
    seldom = f["classic_marked_slots"] <= SELDOM * f["classic_own_marked"]
    outrun = f["classic_outrun"] >= OFTEN * f["classic_own_marked"]
    if not (ect0 and often and seldom and outrun):
        return None
    reason = "Often marked, while ECT(0) traffic of more than twice its rate hardly gets a mark."
    return "l4s", PARTLY, reason


def left_behind(f: Features) -> Verdict | None:
    """Two queues that do not share the rate out, however noise blurs at which delay they mark."""
    if not sharing.left_behind(f) or border.uncoupled(f):
        return None
    shown = "ECT(1) packets are marked at less than half the rate of others, which wait longer"
    return "l4s", PARTLY, f"{border.at(f)}. {shown} at the same time: two queues."


def _as_late_as_codel(f: Features) -> bool:
    """Marks that CoDel could have made, and longer queues without."""
    return bool(f["marking_delay_us"] > CODEL_US and border.tolerated(f))


def slow(f: Features) -> bool:
    """The time of packets moves the border into the range of classic AQMs."""
    return bool(f["mark_limit_us"] > L4S_MARK_US)


def _marked_in_the_shorter(f: Features) -> Verdict | None:
    """Marks for ECT(1), and hardly any for ECT(0) packets that wait far longer.

    However long the two queues really are, a classic AQM on each marks the longer one first.
    """
    if f["marked_as"] != "ect1" or not sharing.compared(f, "classic"):
        return None
    ect0 = f["classic_ect0"] > HALF * f["classic_slots"]
    often = f["marked_rounds"] >= OFTEN_MARKED * f["rounds"]
    seldom = f["classic_marked_slots"] <= SELDOM * f["classic_slots"]
    if not (ect0 and often and seldom):
        return None
    if not border.isolated(f, "classic_own_queue_us", "classic_queue_us"):
        return None
    longer = quantity(f["classic_queue_us"] - f["classic_own_queue_us"], "us")
    reason = f"Often marked, while ECT(0) traffic waits {longer} longer and hardly gets a mark."
    return "l4s", OWN_MARKS, reason


def _one_step(f: Features, mate: str) -> Verdict | None:
    """Low marks in a queue that flows of the other kind share."""
    if not border.in_one_queue(f, mate):
        return None
    shown = f"{border.at(f)}, and other traffic waits as long at the same time: one queue"
    if not border.tolerated(f):
        return "shallow", OWN_MARKS, f"{shown} (delays {sharing.words(f, mate)})."
    times = sorted((f[f"{mate}_own_marked"], f[f"{mate}_marked_slots"]))
    low = (f[f"{mate}_mark_delay_us"] or 0.0) <= ALSO_MARKED * f["mark_limit_us"]
    if low and times[0] >= max(MIN_MARKS, TOGETHER * times[1]):
        return "shallow", PARTLY, f"{shown}. Its marks come to both at the same times."
    return None


def overloaded_step(f: Features) -> Verdict | None:
    """Marks of all packets in a long queue that all share, and the first of them at a low delay.

    A flow that ignores marks keeps the queue beyond the step, so most marks come late.
    """
    first = f["first_marking_us"]
    if not f["began"] or first is None or first > f["mark_limit_us"]:
        return None
    for mate in ("scalable", "classic"):
        step = _one_step(f | {"marking_delay_us": first}, mate)
        if step and f[f"{mate}_high_unmarked"] <= HARDLY * f[f"{mate}_high"]:
            return step
    return None


def _not_ect1_shallow(f: Features) -> Verdict | None:
    """Low marks without a step: PIE and PI2 go on marking when the queue has drained."""
    if shared := _one_step(f, "scalable"):
        return shared
    low = (f["scalable_mark_delay_us"] or f["mark_limit_us"] + 1) <= f["mark_limit_us"]
    if sharing.compared(f, "scalable") and f["scalable_marks"] >= MIN_MARKS and low:
        alike = sharing.words(f, "scalable")
        if f["marked_rounds"] < OFTEN_MARKED * f["rounds"] and not border.uncoupled(f):
            reason = f"{border.at(f)}, but far less often than those of ECT(1) traffic."
            return "l4s", PARTLY, reason
        if not sharing.one_queue(f, "scalable"):
            shown = f"{border.at(f)}, as those of ECT(1) traffic do; delays {alike}"
            return _apart(f, "scalable", f["stepped"], shown)
    if border.tolerated(f):
        reason = f"{border.at(f)}, yet longer queues often get none"
        if sharing.compared(f, "scalable"):
            return border.unknown(f"Cannot be determined: {border.lower(reason)}.")
        return CLASSIC_OR_PER_FLOW, PARTLY, f"{reason}."
    return None


def _beside_classic(f: Features) -> Verdict:
    """Marks at an L4S delay, and classic flows on the path."""
    other = quantity(f["classic_queue_us"], "us")
    # A window of a packet or two waits for delayed ACKs, which is no queue.
    isolated = border.isolated(f, "classic_own_queue_us", "classic_queue_us")
    if isolated and not border.uncoupled(f):
        reason = f"{border.at(f)}, while classic traffic waits {other} in a queue of its own."
        return "l4s", TWO_QUEUES, reason
    if shared_queue := _one_step(f, "classic"):
        return shared_queue
    if _never_drains(f):
        alike = sharing.words(f, "classic")
        shown = f"{border.at(f)} and the other traffic waits as long at the same time"
        return "shallow", PARTLY, f"{shown}, always marked (delays {alike})."
    delay = f["classic_mark_delay_us"]
    also = (
        delay is not None
        and f["classic_marks"] >= MIN_MARKS
        and f["classic_marked_slots"] >= max(MIN_MARKS, OFTEN_MARKED * f["classic_slots"])
        and delay <= ALSO_MARKED * f["mark_limit_us"]
    )
    if not also and border.uncoupled(f):
        return _shared(f, "classic") or border.unknown(
            f"Cannot be determined: {border.lower(border.at(f))}; {border.alike(f)}."
        )
    if not also:
        hardly = "cannot be marked" if f["classic_ect0"] == 0 else "is hardly marked"
        if unheard(f):
            return border.unknown(f"Cannot be determined: {border.lower(border.at(f))}; {UNHEARD}.")
        least = max(f["classic_own_queue_us"], f["marking_delay_us"])
        if not f["classic_ect0"] and f["classic_queue_us"] < least:
            return border.unknown(
                f"Cannot be determined: {border.lower(border.at(f))}; the other traffic waits "
                f"less ({other}) and cannot be marked."
            )
        if not f["classic_ect0"] and border.beyond(f, "classic") and sharing.alike(f, "classic"):
            return border.unknown(
                f"Cannot be determined: {border.lower(border.at(f))}, and traffic that cannot be "
                f"marked waits about as long ({sharing.words(f, 'classic')})."
            )
        return "l4s", PARTLY, f"{border.at(f)}; classic traffic waits {other} and {hardly}."
    shared = f"{border.at(f)} and classic traffic is marked about as early"
    often = f["classic_high_unmarked"] >= max(MIN_HIGH, HARDLY * f["classic_high"])
    if often and not border.uncoupled(f):
        return "l4s", PARTLY, f"{border.at(f)}; classic traffic often waits longer without a mark."
    alike = sharing.words(f, "classic")
    if sharing.one_queue(f, "classic"):
        confidence = SEEN_BY_OTHERS if sharing.sure(f, "classic") else PARTLY
        return "shallow", confidence, f"{shared}: one queue (delays {alike})."
    if sharing.own_queues(f, "classic") and f["noise_us"] <= f["mark_limit_us"]:
        shown = f"{shared}, but the delays differ ({alike})"
        return _apart(f, "classic", f["classic_stepped"], shown)
    return _shared(f, "classic") or border.unknown(
        f"Cannot be determined: {border.lower(shared)}, the delays are {alike}."
    )


def unheard(f: Features) -> bool:
    """Classic flows went along, and the path clears the bits that would report their marks."""
    ect0 = sharing.compared(f, "classic") and f["classic_ect0"] > 0
    return bool(ect0 and f["cleared"] and not f["classic_marks"])


def _never_drains(f: Features) -> bool:
    """A queue that all share stands beyond the border, and all of them are marked all the time."""
    stands = f["classic_high"] >= MIN_HIGH and f["high_acked"] >= MIN_PACKETS
    all_marked = f["classic_high_unmarked"] <= HARDLY * f["classic_high"]
    return bool(stands and all_marked and sharing.one_queue(f, "classic")) and not border.tolerated(
        f
    )


def _apart(f: Features, mate: str, stepped: float | None, shown: str) -> Verdict:
    """Low marks in two queues: a step in each, or a dual queue whose PI2 marks after it drained."""
    if shared := _shared(f, mate):
        return shared
    if border.beyond(f, mate) and sharing.alike(f, mate):
        return border.unknown(
            f"Cannot be determined: {border.lower(shown)}, and beyond what an L4S AQM lets a queue "
            "grow to."
        )
    unfair = sharing.out_of_turn(f, mate) or sharing.far_from_even(f, mate)
    if unfair and not border.uncoupled(f):
        reason = f"{shown}. A flow is marked although others get more than twice its rate."
        return "l4s", PARTLY, reason
    if (stepped or 0.0) >= STEPPED and not unfair:
        return "per-flow", PARTLY, f"{shown}. Every longer classic queue is marked."
    if border.uncoupled(f):
        return border.unknown(
            f"Cannot be determined: {border.alike(f)}, and {border.lower(shown)}."
        )
    return "l4s", PARTLY, f"{shown}. Longer classic queues are often not marked."


def _shared(f: Features, mate: str) -> Verdict | None:
    """Low marks of a queue that is neither the one of a dual queue nor a flow's own."""
    fair = not (sharing.within_a_packet(f, mate) or sharing.unequal(f, mate))
    if fair or not border.uncoupled(f):
        return None
    return "shallow", PARTLY, f"{border.at(f)}; {border.alike(f)}."


def beside_l4s(f: Features) -> Verdict | None:
    """An unmarked flow beside ECT(1) flows that the same path marks at an L4S delay."""
    delay = ect1_marked_at(f)
    if delay is None or border.uncoupled(f):
        return None
    if f["marked_as"] == "not_ect" and f["scalable_own_queue_us"] < delay:
        return None  # what cannot be marked and waits less shows no second queue
    reason = "ECT(1) traffic of the path is marked as an L4S AQM marks it; this flow is not."
    return "l4s", PARTLY, reason


def ect1_marked_at(f: Features) -> float | None:
    """Delay (us) below the border at which ECT(1) flows beside this other flow are marked."""
    if f["marked_as"] == "ect1" or not sharing.compared(f, "scalable"):
        return None
    delay = f["scalable_mark_delay_us"]
    if delay is None or f["scalable_marked_slots"] < MIN_MARKS or delay > f["mark_limit_us"]:
        return None
    if slow(f) and delay > CODEL_US:
        return None
    return float(delay)
