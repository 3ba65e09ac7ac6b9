"""What limits a flow direction that gets marks: where they set in, and what its neighbors see.

What separates the AQMs: an L4S AQM marks every ECT(1) packet that waits longer than a step of a
millisecond or two; CoDel, PIE and RED let a queue of some milliseconds stand and mark a few of its
packets; a queue per flow delays each flow on its own.
"""

from __future__ import annotations

from l4strace.derive import border, first_packets, low_marks, sharing, step_shape, unmarked
from l4strace.derive.border import HALF, HARDLY, MIN_HIGH
from l4strace.derive.low_marks import MIN_MARKS
from l4strace.derive.noise import HIDES, REORDERED
from l4strace.derive.queue_features import L4S_MARK_US, PACKETS
from l4strace.derive.unmarked import (
    ALONE,
    OWN_MARKS,
    PARTLY,
    SEEN_BY_OTHERS,
    TWO_QUEUES,
    Features,
    Verdict,
)
from l4strace.schema.words import CLASSIC_OR_PER_FLOW
from l4strace.wording.quantities import at_delay, quantity, queue_delay

MANY, SELDOM = 100, 0.1
"""Packets beyond the border, and the part of them with marks, that show such an AQM. By eye: an L4S
AQM marks all of them."""

EVERY_PACKET = 0.95
"""Marked share from which marks carry no information (rule L4S403). By eye."""

MIN_ISOLATED = 3
"""Slots that show one queue far longer than another: no chance makes a ratio of three. By eye."""

NAMED_US = 500.0
"""Jitter below which it is not what hides a queue: a quarter of the border."""

APART_US = 8000.0
"""Distance of two marking delays that no single AQM has: more than CoDel's 5 ms (RFC 8289) with
half of PIE's 15 ms (RFC 8033) to spare. It holds under noise, which delays both flows alike."""


def verdict(f: Features) -> Verdict | None:
    """The kind that the marks show; None where there are too few."""
    shown = _of_direction(f)
    if (shown is None or shown[0] == "unknown") and f["all_marks"]:
        return border.spared(f) or low_marks.left_behind(f) or shown
    return shown


def _of_direction(f: Features) -> Verdict | None:
    if f["marks"] >= EVERY_PACKET * f["acked"] and (f["queue_delay_us"] or 0.0) < L4S_MARK_US:
        return _all_marked(f)
    if f["marks"] >= MIN_MARKS:
        return _from_marks(f)
    if f["marks"] and (_far_above(f) or _hardly_marked(f)):
        return _less_sure(_deep_marks(f | {"marking_delay_us": _first(f)}))
    first = f | {"marking_delay_us": f["first_marking_us"]}
    if f["all_marks"] >= MIN_MARKS:
        far = _hardly_marked(f) and _far_above(first)
        return _less_sure(_deep_marks(first)) if far else _marked_early(f)
    if f["all_marks"] and _hardly_marked(f):
        return _less_sure(_deep_marks(first))
    if f["all_marks"] and _stopped_at_once(f):
        return _less_sure(_marked_early(f))
    return None


def _stopped_at_once(f: Features) -> bool:
    """A mark or two at the delay of an L4S AQM, and never a queue as long without one.

    Classic flows that went along may have met the same step.
    """
    if f["marked_as"] != "ect1" or sharing.compared(f, "classic") or f["queue_max_us"] is None:
        return False
    return bool(f["queue_max_us"] < min(f["first_marking_us"] or 0.0, f["mark_limit_us"]))


def _first(f: Features) -> float:
    """Queue delay at which marks set in; at the first one, where no later one has an RTT."""
    known = f["marking_delay_us"]
    return float(f["first_marking_us"] if known is None else known)


def _less_sure(verdict: Verdict) -> Verdict:
    """A mark or two may have come from elsewhere."""
    kind, confidence, reason = verdict
    return kind, min(ALONE, confidence), reason


def _all_marked(f: Features) -> Verdict:
    """Marks without a threshold: what the neighbors see decides."""
    isolated = sharing.compared(f, "classic") and border.isolated(
        f, "classic_own_queue_us", "classic_queue_us"
    )
    if f["marked_as"] == "ect1" and isolated:
        return (
            "l4s",
            OWN_MARKS,
            f"Nearly every packet is CE at {quantity(f['queue_delay_us'], 'us')} of queue delay, "
            f"while classic traffic waits {quantity(f['classic_queue_us'], 'us')} in its own.",
        )
    return border.unknown("Every packet is CE, so the marks show nothing about a queue.")


def _marked_early(f: Features) -> Verdict:
    """Marks in the start only, whose queue grows from none: the first one came at the step."""
    first = f["first_marking_us"]
    if (
        f["marked_as"] == "ect1"
        and f["began"]
        and first is not None
        and first <= f["mark_limit_us"]
    ):
        began = f"Marks began {at_delay(queue_delay(first))} of queue delay when the flow started"
        if border.uncoupled(f):
            return "shallow", PARTLY, f"{began}; {border.alike(f)}."
        if border.no_fewer(f):
            return border.unknown(
                f"Cannot be determined: {border.lower(began)}; {border.alike(f)}."
            )
        if low_marks.unheard(f):
            return border.unknown(
                f"Cannot be determined: {border.lower(began)}; {low_marks.UNHEARD}."
            )
        return "l4s", PARTLY, f"{began}."
    return low_marks.beside_l4s(f) or border.unknown(
        "Cannot be determined: nearly all marks fell while the flow started."
    )


def _hardly_marked(f: Features) -> bool:
    """A mark or two while many packets waited beyond the border: an AQM that tolerates it."""
    late = (f["first_marking_us"] or 0.0) > f["mark_limit_us"] + f["noise_us"]
    many = f["high_acked"] >= MANY and f["high_marks"] <= SELDOM * f["high_acked"]
    return bool(late and many and not f["classic_feedback"])


def _seldom_marked(f: Features) -> bool:
    """Most packets of rounds that waited beyond the border, noise apart, have no mark.

    Where packets overtake others, all ACKs wait for the slowest. Measured on 33 directions whose
    noise reaches beyond the border: every packet behind a step, 0.44 of them at most elsewhere.
    """
    if f["classic_feedback"] or (f["late_share"] or 0.0) >= REORDERED:
        return False
    return bool(f["high_acked"] >= MANY and f["high_marks"] <= HALF * f["high_acked"])


def _far_above(f: Features) -> bool:
    """Even one mark shows a classic AQM when it comes this late."""
    least = f["mark_limit_us"] + f["noise_us"] + APART_US
    return f["marking_delay_us"] is not None and bool(f["marking_delay_us"] > least)


def _from_marks(f: Features) -> Verdict:
    """Low marks, deep marks, or noise between the two."""
    delay, limit = f["marking_delay_us"], f["mark_limit_us"]
    if delay is None:
        return low_marks.beside_l4s(f) or border.unknown(
            "Cannot be determined: no RTT sample belongs to a marked packet."
        )
    apart = _in_turn(f) or _thresholds_apart(f) or _own_queue(f)
    if apart is not None:
        return apart
    if delay <= limit:
        return low_marks.verdict(f)
    # Others that wait as long as this flow rule out jitter of a few milliseconds.
    late = delay > low_marks.CODEL_US or _waits_with_others(f)
    late = late and not step_shape.moved_step(f)
    if late and (delay - f["noise_us"] > limit or _seldom_marked(f)):
        return _deep_marks(f)
    if (
        sharing.compared(f, "classic")
        and sharing.one_queue(f, "classic")
        and f["queue_delay_us"] > 2 * limit
        and border.tolerated(f)
    ):
        # Noise moves each flow on its own; a queue that both wait in moves them together.
        return (
            "classic",
            PARTLY,
            f"{border.at(f)}, and the other traffic waits as long at the same time.",
        )
    return (
        low_marks.behind_noise(f)
        or low_marks.marked_instead(f)
        or border.unknown(_hidden(f, f"the queue (marks come at {quantity(delay, 'us')})"))
    )


def _waits_with_others(f: Features) -> bool:
    return any(sharing.compared(f, c) and sharing.sure(f, c) for c in ("scalable", "classic"))


def _hidden(f: Features, what: str) -> str:
    jitter = f["noise_us"] / HIDES
    if jitter < NAMED_US:
        return (
            "Cannot be determined: marks come at "
            f"{quantity(f['marking_delay_us'], 'us')}, near the border of "
            f"{quantity(f['mark_limit_us'], 'us')} between L4S and classic AQMs."
        )
    return f"Cannot be determined: {unmarked.jitter(f)} of jitter hides {what}."


def _in_turn(f: Features) -> Verdict | None:
    """Fair queueing, unless ECT(1) packets are marked as early as an L4S AQM does."""
    low = f["marking_delay_us"] if f["marked_as"] == "ect1" else low_marks.ect1_marked_at(f)
    # On a slow link the border is no shorter than what CoDel marks from.
    if low is not None and low <= f["mark_limit_us"] and not low_marks.slow(f):
        return None
    for mate in ("scalable", "classic"):
        if sharing.served_in_turn(f, mate):
            reason = f"{border.at(f)}; {sharing.turns(f, mate)}."
            return "per-flow", SEEN_BY_OTHERS, reason
    return None


def _thresholds_apart(f: Features) -> Verdict | None:
    """ECT(1) packets are marked at a far shorter delay than others: two thresholds, two queues."""
    mate = "classic" if f["marked_as"] == "ect1" else "scalable"
    if not sharing.compared(f, mate) or f[f"{mate}_marked_slots"] < MIN_MARKS:
        return None
    other = f[f"{mate}_mark_delay_us"]
    if other is None or f["marking_delay_us"] is None:
        return None
    delays = (f["marking_delay_us"], other)
    low, high = delays if mate == "classic" else delays[::-1]
    if high - low < max(APART_US, f["noise_us"]) or sharing.one_queue(f, mate):
        return None
    if low_marks.slow(f) and _ect1_far_unmarked(f) >= MIN_HIGH:
        return None
    # Noise of some milliseconds moves the marks of an L4S AQM; more of it hides which AQM it is.
    limit = f["mark_limit_us"] if mate == "classic" else _ect1_limit(f)
    beyond = low > limit
    if beyond and (low > limit + min(f["noise_us"], limit) or _left(f)):
        return None
    # The delay of the other flows has its own estimate in their own rows.
    other = "classic" if mate == "classic" else "ECT(1)"
    apart = "later" if mate == "classic" else "earlier"
    reason = f"{border.at(f)}, those of {other} traffic far {apart}: two queues."
    return "l4s", PARTLY if beyond else TWO_QUEUES, reason


def _ect1_limit(f: Features) -> float:
    """Border of ECT(1) flows beside this other flow, which may be marked while the path is slow."""
    usual = max(L4S_MARK_US, PACKETS * (f["serialisation_us"] or 0.0))
    return min(float(f["mark_limit_us"]), usual)


def _ect1_far_unmarked(f: Features) -> int:
    """Rounds in which ECT(1) packets of the path waited far beyond the border without a mark."""
    own = int(f["far_unmarked"])
    return own if f["marked_as"] == "ect1" else int(f["path_far_unmarked"]) - own


def _left(f: Features) -> bool:
    """ECT(1) packets often waited beyond the border, noise apart, without a mark."""
    of = "" if f["marked_as"] == "ect1" else "scalable_"
    rounds = f["scalable_high" if of else "high_rounds"]
    return bool(f[f"{of}high_unmarked"] >= max(MIN_HIGH, HARDLY * rounds))


def _own_queue(f: Features) -> Verdict | None:
    """Other flows wait far less at the same time: this flow has a queue of its own."""
    for mate in ("scalable", "classic"):
        few = (f[f"{mate}_slots"] or 0) >= MIN_ISOLATED
        if not few or not border.isolated(f, f"{mate}_queue_us", f"{mate}_own_queue_us"):
            continue
        # A packet that overtook the others makes all others seem to wait.
        overtook = (f["late_share"] or 0.0) >= REORDERED and not f["flat"]
        if sharing.longer_path(f, mate) or overtook:
            continue
        other = quantity(f[f"{mate}_queue_us"], "us")
        at = (f[f"{mate}_marks"] or 0) >= MIN_MARKS and f[f"{mate}_mark_delay_us"]
        dual = mate == "scalable" and f["marked_as"] != "ect1" and not border.uncoupled(f)
        if dual and at and at <= f["mark_limit_us"]:
            own = quantity(f[f"{mate}_own_queue_us"], "us")
            waits = f"this flow waits {own}, ECT(1) traffic {queue_delay(f[f'{mate}_queue_us'])}"
            reason = f"{border.at(f)}; {waits}: two queues."
            return "l4s", SEEN_BY_OTHERS, reason
        # In a dual queue ECT(1) packets wait less than others, whatever noise adds to both.
        shorter = f["marked_as"] == "ect1" and mate == "classic"
        noise = 0.0 if shorter else f["noise_us"]
        late = f["marking_delay_us"] - noise > f["mark_limit_us"]
        if late and not (sharing.out_of_turn(f, mate) or sharing.unfair(f, mate)):
            reason = f"{border.at(f)}, while other traffic waits only {other}: separate queues."
            return "per-flow", OWN_MARKS, reason
    return None


def _deep_marks(f: Features) -> Verdict:
    at = border.at(f)
    if border.unmoved(f):
        return border.unknown(_hidden(f, "the queue, and the delay of the rounds hardly varies"))
    if f["marks"] >= MIN_MARKS and not border.tolerated(f):
        if _all_beyond(f):
            # In a queue that never drains, most marks come far above the step.
            f["marking_delay_us"] = f["first_marking_us"]
            return low_marks.verdict(f)
        if step := low_marks.overloaded_step(f):
            return step
        return border.unknown(
            f"Cannot be determined: {border.lower(at)}, but no queue above "
            f"{quantity(f['mark_limit_us'], 'us')} went unmarked: the threshold may be lower."
        )
    mates = [c for c in ("scalable", "classic") if sharing.compared(f, c)]
    waits = [c for c in mates if sharing.waited(f, c) or sharing.sure(f, c)]
    if not waits:
        if begun := first_packets.verdict(f):
            return begun
        # A dual queue may be what leaves ECT(0) flows and ECT(1) flows unequal.
        one_of = ("scalable", "classic") if f["marked_as"] == "ect1" else ("classic",)
        if any(sharing.far_from_even(f, c) for c in one_of):
            return "classic", PARTLY, f"{at} and the flows get rates far from equal."
        dual = f["marked_as"] != "ect1" and "scalable" in mates
        if dual and f["scalable_high_unmarked"] < MIN_HIGH:
            return border.unknown(
                f"Cannot be determined: {border.lower(at)}; the ECT(1) traffic waits too little to "
                "show whether they have a queue of their own."
            )
        if border.overtaken(f):
            late = f"{100 * f['late_share']:.0f} % of the packets arrive late"
            return border.unknown(
                f"Cannot be determined: {border.lower(at)}, but {late}, and ACKs wait for the "
                "latest of them."
            )
        if step_shape.all_beyond(f):
            return border.unknown(
                f"Cannot be determined: {border.lower(at)}, and every packet that waited longer "
                "was marked, as by a step that lies lower."
            )
        alone = "the flows mostly wait too little to show" if mates else "no other long flow shows"
        return CLASSIC_OR_PER_FLOW, OWN_MARKS, f"{at}; {alone} whether others share the queue."
    return _deep_beside(f, waits)


def _all_beyond(f: Features) -> bool:
    """Every packet beyond the border was marked, and the first mark of all came below it: a step.

    RED marks all packets as well once its average passed the upper threshold, but that is late.
    """
    first = f["first_marking_us"]
    early = f["began"] and first is not None and first <= f["mark_limit_us"]
    return bool(early) and step_shape.all_beyond(f)


def _deep_beside(f: Features, company: list[str]) -> Verdict:
    """Marks beyond the border, and other flows whose delays show whose queue that is."""
    mates = company[0]
    at, alike = border.at(f), sharing.words(f, mates)
    noisy = f["noise_us"] > f["mark_limit_us"]
    sure = sharing.sure(f, mates)
    own = sharing.own_queues(f, mates) and not sharing.within_a_packet(f, mates)
    # Where flows of either kind wait in one queue there is none per flow.
    own = own and not any(sharing.sure(f, c) or sharing.unfair(f, c) for c in company)
    # One queue of all is that of flows of either kind.
    apart = any(sharing.far_apart(f, c) for c in company[1:])
    if sharing.one_queue(f, mates) and (not noisy or sure) and not apart:
        reason = f"{at} and the other traffic waits as long at the same time (delays {alike})."
        return "classic", SEEN_BY_OTHERS if sure else OWN_MARKS, reason
    for other in company[1:]:
        late = (f[f"{mates}_mark_delay_us"] or 0.0) > f["mark_limit_us"] + f["noise_us"]
        if late and sharing.sure(f, other):
            alike = sharing.words(f, other)
            reason = f"{at} and other traffic waits as long at the same time (delays {alike})."
            return "classic", PARTLY, reason
    low = low_marks.ect1_marked_at(f)
    if own and low is not None:
        reason = f"{at}, those of ECT(1) traffic far earlier: two queues."
        return "l4s", PARTLY, reason
    if sharing.out_of_turn(f, mates):
        # Flows of one class wait in one queue then, and so do all where no step marks ECT(1).
        if f["marked_as"] == "ect1" or mates == "classic":
            reason = (
                f"{at} and the flows do not get equal rates, as queues of their own would give."
            )
            return "classic", PARTLY if noisy else OWN_MARKS, reason
        own = False
    if own and (not noisy or f["queue_high_us"] > 2 * f["noise_us"]):
        reason = f"{at} and the delay of the other traffic differs ({alike})."
        return "per-flow", PARTLY if noisy else OWN_MARKS, reason
    if begun := first_packets.verdict(f):
        return begun
    if noisy:
        return border.unknown(_hidden(f, "whether the flows share the queue"))
    return border.unknown(
        "Cannot be determined: the delays of the flows show neither one queue nor a queue each "
        f"({alike})."
    )
