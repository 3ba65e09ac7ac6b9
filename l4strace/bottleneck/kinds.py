"""Which signs make which kind of bottleneck: ordered rows, and the first that fires decides.

A row fires when each sign that it needs is true and none that excludes it is; an unknown sign does
neither. Rows of kind `unknown` give the reason why no later row may be believed.
"""

from typing import NamedTuple

from l4strace.bottleneck.sign import Sign
from l4strace.bottleneck.signs import losses, marks, others, sent
from l4strace.schema.words import BOTTLENECKS, CLASSIC_OR_PER_FLOW

TWO_QUEUES = 0.95
"""Confidence: marks at an L4S threshold while classic flows wait in a queue of their own."""
SEEN_BY_OTHERS = 0.9
"""Confidence: another flow of the path, or a loss, shows the same queue."""
NOTHING_THERE = 0.8
"""Confidence: no marks, no losses and no queue delay."""
OWN_MARKS = 0.7
"""Confidence: the flow's own packets fit one kind, and no other flow contradicts it."""
PARTLY = 0.6
"""Confidence: what the other flows of the path saw fits only partly."""
ALONE = 0.5
"""Confidence: one flow that other kinds of queue would explain as well."""
NO_VERDICT = 0.0

CLASSIC, ECT1 = ("classic",), ("scalable",)
EITHER = ("scalable", "classic")


class Row(NamedTuple):
    """One way to know a kind, or one reason why none is known."""

    kind: str
    confidence: float
    needs: tuple[Sign, ...]
    says: str
    """One sentence; `{early}` stands for what the sign `early`, which the row needs, states."""
    unless: tuple[Sign, ...] = ()
    beside: tuple[str, ...] = CLASSIC
    """Classes of neighbors that the row asks, one after the other."""


UNKNOWN = ("unknown", NO_VERDICT)

ROWS = (
    # What this capture cannot show.
    Row(*UNKNOWN, (sent.feedback_mangled,), "{feedback_mangled}"),
    Row(*UNKNOWN, (sent.marked_before,), "{marked_before}"),

    # Marks, and what the flows beside show of the queue: turns, thresholds, waits.
    Row("per-flow", SEEN_BY_OTHERS, (marks.enough, others.in_turn), "{in_turn}",
        unless=(marks.ect1_early,), beside=EITHER),
    Row("l4s", TWO_QUEUES, (marks.enough, sent.ect1, marks.lower_early, marks.far_apart),
        "{lower_early}, and {far_apart}: two queues"),
    Row("l4s", TWO_QUEUES, (marks.enough, sent.not_ect1, marks.lower_early, marks.far_apart),
        "{lower_early}, and {far_apart}: two queues", beside=ECT1),
    Row("l4s", SEEN_BY_OTHERS, (marks.enough, sent.not_ect1, marks.ect1_marked, others.wait_less),
        "{ect1_marked}, and {wait_less}: two queues", unless=(marks.uncoupled,), beside=ECT1),
    Row("per-flow", OWN_MARKS, (marks.late, others.wait_less),
        "{late}, while {wait_less}: separate queues", unless=(marks.far_apart,), beside=EITHER),
    Row("l4s", TWO_QUEUES, (marks.early, sent.ect1, others.wait_longer),
        "{early}, while {wait_longer}", unless=(marks.uncoupled,)),
    Row("l4s", PARTLY, (sent.ect1, marks.spared), "{spared}: two queues",
        unless=(marks.uncoupled,)),
    Row(*UNKNOWN, (marks.early, marks.hidden_queue), "the capture began late, and {hidden_queue}"),
    Row(*UNKNOWN, (marks.every_packet,), "{every_packet}, so the marks show nothing of a queue"),

    # Marks below the border.
    Row(*UNKNOWN, (marks.early, sent.ect1, marks.slow_and_tolerated),
        "{early}, but {slow_and_tolerated}"),
    Row("shallow", SEEN_BY_OTHERS, (marks.early, sent.ect1, marks.others_early, others.surely_alike),
        "{early}, {others_early}, and {surely_alike}"),
    Row("shallow", PARTLY, (marks.early, sent.ect1, marks.uncoupled), "{early}, and {uncoupled}"),
    Row(*UNKNOWN, (marks.early, sent.ect1, others.unmarkable_beside),
        "{early}; {unmarkable_beside}"),
    Row(*UNKNOWN, (marks.early, sent.ect1, others.compared, marks.others_early),
        "{early}, and {others_early}, in a queue that may be its own"),
    Row("l4s", OWN_MARKS, (marks.early, sent.ect1), "{early}"),
    Row("l4s", PARTLY, (marks.early, sent.not_ect1, marks.ect1_marked, marks.coupled),
        "{early}, and {ect1_marked}; {coupled}", beside=ECT1),
    Row("shallow", OWN_MARKS, (marks.early, sent.not_ect1, marks.stepped),
        "{early}, and {stepped}, though they are not ECT(1)", unless=(marks.tolerated, marks.slow)),
    Row(*UNKNOWN, (marks.early,), "{early}, and no ECT(1) traffic shows which AQM it is"),

    # Marks beyond the border.
    Row("shallow", PARTLY, (marks.late, marks.step_below, others.alike), "{step_below}, and {alike}",
        beside=EITHER),
    Row("l4s", PARTLY, (marks.late, sent.ect1, marks.step_below), "{step_below}",
        unless=(others.compared,)),
    Row(*UNKNOWN, (marks.late, marks.never_tolerated),
        "{late}, but {never_tolerated}: the threshold may be lower"),
    Row("classic", SEEN_BY_OTHERS, (marks.late, others.surely_alike), "{late}, and {surely_alike}",
        beside=EITHER),
    Row("classic", OWN_MARKS, (marks.late, sent.ect1, others.out_of_turn),
        "{late}, and {out_of_turn}", unless=(others.apart,), beside=EITHER),
    Row("per-flow", OWN_MARKS, (marks.late, others.waited, others.apart), "{late}, and {apart}",
        unless=(marks.far_apart,), beside=EITHER),
    Row("per-flow", OWN_MARKS, (marks.late, others.first_packets_pass),
        "{late}, and {first_packets_pass}"),
    Row("classic", OWN_MARKS, (marks.late, others.first_packets_wait),
        "{late}, and {first_packets_wait}"),
    Row(*UNKNOWN, (marks.late, others.waited),
        "{late}, and the delays of the flows show neither one queue nor a queue each", beside=EITHER),
    Row(CLASSIC_OR_PER_FLOW, OWN_MARKS, (marks.late,),
        "{late}; no other long flow shows whether others share the queue"),
    Row("l4s", PARTLY, (marks.about_border, sent.ect1, marks.never_beyond),
        "{about_border}; {never_beyond}"),
    Row(*UNKNOWN, (marks.about_border, sent.unknown_noise), "{about_border}, and {unknown_noise}"),
    Row(*UNKNOWN, (marks.about_border, marks.jitter_hides), "{jitter_hides}"),
    Row(*UNKNOWN, (marks.about_border,), "{about_border}, near the border of L4S and classic AQMs"),

    # A mark or two, or those of the start.
    Row("classic", ALONE, (marks.first_far_late, others.alike), "{first_far_late}, and {alike}",
        beside=EITHER),
    Row(CLASSIC_OR_PER_FLOW, ALONE, (marks.first_far_late,), "{first_far_late}"),
    Row("shallow", PARTLY, (marks.began_early, sent.ect1, marks.uncoupled),
        "{began_early}, and {uncoupled}"),
    Row("l4s", PARTLY, (marks.began_early, sent.ect1), "{began_early}"),

    # A policer asks no codepoint, and leaves no queue.
    Row("policed", OWN_MARKS, (losses.some, losses.without_queue, losses.in_groups, losses.one_rate,
        losses.no_room), "{some} {without_queue}; {one_rate}", unless=(marks.some, losses.before)),

    # None of its own: the path erases them, or others get them.
    Row("unmarked", OWN_MARKS, (sent.erased, losses.some, losses.with_queue),
        "{some} {with_queue}; {erased}"),
    Row("unmarked", ALONE, (sent.erased, losses.none, losses.unanswered), "{unanswered}; {erased}"),
    Row(*UNKNOWN, (sent.erased,), "{erased}"),
    Row("l4s", PARTLY, (sent.not_ect1, marks.ect1_early, others.waits_no_less),
        "ECT(1) traffic of the path is marked as an L4S AQM marks it; this flow is not",
        unless=(marks.uncoupled,), beside=ECT1),
    Row(*UNKNOWN, (sent.not_ect,), "Not-ECT packets cannot be marked, so the queue cannot be identified"),
    Row(*UNKNOWN, (marks.some,), "{some}: too little to identify an AQM"),

    # No mark, and losses.
    Row(*UNKNOWN, (losses.before,), "{before}"),
    Row(*UNKNOWN, (losses.some, losses.without_queue, losses.in_groups),
        "{some} {without_queue}, {in_groups}: a policer, or a queue that delays do not show"),
    Row("none", PARTLY, (losses.some, losses.without_queue, losses.shallow),
        "{some} {without_queue}: the path loses at random"),
    Row(*UNKNOWN, (marks.may_hide,), "{may_hide}"),
    Row("unmarked", PARTLY, (losses.some, losses.with_queue, sent.reordered),
        "{some} {with_queue}, without a mark; {reordered}, so some may not be lost"),
    Row("fifo", SEEN_BY_OTHERS, (losses.some, losses.always_full),
        "{some}, {always_full}, without a mark"),
    Row("dropping", OWN_MARKS, (losses.some, losses.below_largest, losses.never_full),
        "{some}, {never_full}, without a mark"),
    Row("unmarked", SEEN_BY_OTHERS, (losses.some, losses.with_queue, losses.standing),
        "{some} {with_queue}, without a mark"),
    Row("unmarked", PARTLY, (losses.some, losses.with_queue), "{some} {with_queue}, without a mark"),

    # No mark and no loss.
    Row(*UNKNOWN, (losses.flat, losses.jitter), "{jitter}"),
    Row("none", NOTHING_THERE, (losses.flat, losses.quiet_path),
        "no marks, no loss and {flat}: nothing queues here"),
    Row(*UNKNOWN, (losses.flat,), "{flat}, yet packets of the path are marked or lost"),
    Row("unmarked", ALONE, (losses.unanswered,), "{unanswered}"),
    Row(*UNKNOWN, (), "neither marks nor a standing queue"),
)
"""The first that fires decides."""


def listed() -> str:
    """The rows as a list of sentences: what `l4strace explain L4S401` prints."""
    return "\n".join(f"- {_worded(row)}" for row in ROWS)


def _worded(row: Row) -> str:
    sure = f" ({row.confidence:g})" if row.confidence else ""
    needs = ", ".join(sign.name for sign in row.needs) or "nothing else holds"
    unless = " or ".join(sign.name for sign in row.unless)
    return f"{BOTTLENECKS[row.kind]}{sure}: {needs}{'; unless ' if unless else ''}{unless}."
