"""One row of the table: what was measured of a flow direction, and the verdict on its fallback."""

from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from l4strace.fallback.causes import Cause
from l4strace.fallback.conditions import UNCHANGED, Conditions
from l4strace.fallback.counters import Inputs, Zones
from l4strace.fallback.place import Place
from l4strace.fallback.recorded import Recorded
from l4strace.fallback.replayed import Replayed
from l4strace.fallback.response import Response
from l4strace.fallback.samples import Sampled
from l4strace.fallback.use import Use
from l4strace.model import Confidence

State = Literal["acts", "observes", "idle", "absent", "unknown"]
"""The score is above 8 and reductions may use it; it is, and none uses it; it is not; the build has
no fallback; not shown."""

Shown = Literal["log", "packets", "counters"]


class Verdict(NamedTuple):
    """What the fallback does, what justifies a high score, and what shows both."""

    state: State
    justified_by: Cause | None = None
    """Null where the score is not above 8."""
    shown_by: Shown | None = None
    confidence: Confidence = Confidence.LOW


NOWHERE = Place()
NO_USE = Use()


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured of one direction, null where nothing shows it, and its verdict."""

    flow: int | None = None
    forward: bool | None = None
    place: Place = NOWHERE
    recorded: Recorded | None = None
    use: Use = NO_USE
    sampled: Sampled | None = None
    replayed: Replayed | None = None
    response: Response | None = None
    then: Conditions = UNCHANGED
    zones: Zones | None = None
    inputs: Inputs | None = None
    state: State = "unknown"
    justified_by: Cause | None = None
    shown_by: Shown | None = None
    confidence: Confidence = Confidence.LOW

    @property
    def high(self) -> bool:
        """The score is above 8, whether reductions use it or not."""
        return self.state in ("acts", "observes")

    @property
    def used(self) -> bool:
        """Reductions follow the score: a log shows them, or packets do."""
        return self.use.acts or bool(self.response and self.response.at_the_floor)


def judged(seen: Row, verdict: Verdict) -> Row:
    """``seen`` with its ``verdict``."""
    return replace(seen, **verdict._asdict())
