"""Flows of one path go through one bottleneck: what one of them shows holds for the others.

Flows that contradict each other prove that some evidence is not what it seems, such as delay of a
flow's own path that reads as queue.
"""

from collections import Counter, defaultdict
from math import isnan
from typing import NamedTuple

from l4strace.bottleneck.evidence import Direction
from l4strace.bottleneck.kinds import ALONE, PARTLY, SEEN_BY_OTHERS
from l4strace.bottleneck.verdict import Verdict, unknown
from l4strace.schema.words import CLASSIC_OR_PER_FLOW, NEVER_MARK
from l4strace.wording.quantities import at_delay, marking_delay

Key = tuple[int, int, bool]
"""Source, flow, forward."""

WHICH = ("classic", "per-flow")
"""Kinds of which `CLASSIC_OR_PER_FLOW` is one: no contradiction."""

OPEN = ("unknown", CLASSIC_OR_PER_FLOW)
"""Verdicts that name no kind."""


class Judged(NamedTuple):
    """One direction of a path with its kind, confidence and reason."""

    key: Key
    at: tuple[int, str]
    """Source and path."""
    direction: Direction
    verdict: Verdict

    @property
    def kind(self) -> str:
        return self.verdict.kind

    @property
    def sure(self) -> float:
        return self.verdict.confidence

    @property
    def unmarkable(self) -> bool:
        return self.direction.marked_as == "not_ect" and self.kind in NEVER_MARK

    @property
    def marked(self) -> bool:
        """Marks stand behind the verdict: later ones, or those while the flow started."""
        d = self.direction
        return bool(d.marks or (d.all_marks and self.kind in ("l4s", "shallow")))


def agreed(rows: list[Judged]) -> list[Judged]:
    """The rows with kinds that do not contradict the surest flow of their path."""
    paths: dict[tuple[int, str], list[Judged]] = defaultdict(list)
    for row in rows:
        paths[row.at].append(row)
    made = {row.key: row for mates in paths.values() for row in _of_path(mates)}
    return [made[row.key] for row in rows]


def leaves_open(row: Judged) -> bool:
    """The evidence of the row fits no kind, two, or one of them only partly."""
    return row.kind in OPEN or row.sure <= PARTLY


def within(row: Judged, of_phases: list[Judged]) -> Judged:
    """``row`` with the kind of the phase with most marks that shows one, if the whole hardly does.

    ``of_phases``: what each phase of the path shows of the same flow. One that stays the same has
    one kind of bottleneck; over all of them queues of two kinds, or at two rates, mix.
    """
    if not leaves_open(row):
        return row
    shown = [p for p in of_phases if p.kind != "unknown" and p.direction.all_marks]
    if row.kind == CLASSIC_OR_PER_FLOW:
        shown = [phase for phase in shown if phase.kind in WHICH]
    # Which of two kinds it is, a phase with fewer marks may show.
    shown.sort(key=lambda phase: phase.kind == CLASSIC_OR_PER_FLOW)
    if not shown:
        return row
    best = shown[0].verdict
    reason = f"{best.reason} This is so in one phase of the path."
    return row._replace(
        verdict=best._replace(confidence=min(PARTLY, best.confidence), reason=reason)
    )


def _of_path(mates: list[Judged]) -> list[Judged]:
    mates = _one_of_two(_refuted(mates))
    shown = _shown(mates)
    surest = _surest(shown)
    if surest is not None:
        return [_following(row, surest) for row in mates]
    kinds = {row.key for row in shown if row.kind != "none"}
    return [row._replace(verdict=_CONTRADICT) if row.key in kinds else row for row in mates]


def _shown(mates: list[Judged]) -> list[Judged]:
    """A flow that gets no mark shows nothing of a queue that marks others."""
    return [row for row in mates if row.marked and row.sure >= ALONE]


def _one_of_two(mates: list[Judged]) -> list[Judged]:
    """What the marks of one flow leave open, those of another one decide."""
    which = [row for row in _shown(mates) if row.kind in WHICH]
    if not which:
        return mates
    known = max(which, key=_sure)
    either = {row.key for row in _shown(mates) if row.kind == CLASSIC_OR_PER_FLOW}
    return [_taking(row, known) if row.key in either else row for row in mates]


def _refuted(mates: list[Judged]) -> list[Judged]:
    """A queue that marks some flows of a path is none without ECN to others that it may mark."""
    if not any(row.direction.all_marks for row in mates):
        return mates
    why = unknown("other traffic of the path is marked, this flow is not")
    return [
        row._replace(verdict=why) if row.kind in NEVER_MARK and not row.unmarkable else row
        for row in mates
    ]


_CONTRADICT = unknown("the flows of the path contradict each other")


def _surest(shown: list[Judged]) -> Judged | None:
    """A row of the kind that most sure rows show; null where as many show another kind."""
    sure = [row for row in shown if row.sure >= SEEN_BY_OTHERS]
    if not sure:
        return max(shown, key=_sure, default=None)
    counts = Counter(row.kind for row in sure).most_common(2)
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        return None
    return max((row for row in sure if row.kind == counts[0][0]), key=_sure)


def _sure(row: Judged) -> float:
    return row.sure


def _following(row: Judged, surest: Judged) -> Judged:
    """``row`` takes the kind of the surest flow where its own evidence is weaker or contradicts."""
    if _stays(row, surest):
        return row
    own = row.kind != "unknown" and (row.kind not in NEVER_MARK or row.direction.marks)
    if own and surest.sure < SEEN_BY_OTHERS and row.sure >= surest.sure:
        return row._replace(verdict=_CONTRADICT)
    return _taking(row, surest)


def _stays(row: Judged, surest: Judged) -> bool:
    """Nothing contradicts it. Weak evidence is more than none, and no more than other evidence."""
    if row.kind in (surest.kind, "none") or row.unmarkable:
        return True
    if surest.kind == CLASSIC_OR_PER_FLOW and (row.kind in WHICH or _of_step(row, surest)):
        return True
    return row.kind != "unknown" and surest.sure < PARTLY


def _of_step(row: Judged, surest: Judged) -> bool:
    """A queue per flow, as others may have, can have a step for ECT(1) (sch_fq_codel.c)."""
    classes = (one.direction.marked_as == "ect1" for one in (row, surest))
    return row.kind == "l4s" and tuple(classes) == (True, False)


def _taking(row: Judged, surest: Judged) -> Judged:
    known = surest.verdict
    seen = (
        "" if isnan(known.marking_delay_us) else f" (marks begin {at_delay(_delay(surest))} there)"
    )
    verb = "shows" if known.confidence >= PARTLY else "suggests"
    taken = Verdict(
        known.kind,
        min(PARTLY, known.confidence),
        f"Another flow of the path {verb} it{seen}.",
        marking_delay_us=row.verdict.marking_delay_us,
    )
    return row._replace(verdict=taken)


def _delay(row: Judged) -> str:
    d = row.direction
    packet = None if isnan(d.serialisation_us) else d.serialisation_us
    of = {"marking_delay_us": row.verdict.marking_delay_us, "noise_us": d.noise_us}
    return marking_delay(of | {"serialisation_us": packet})
