"""The values that rules make and outputs read. A rule never knows how its finding is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from l4strace.evidence import Evidence

MAX_FRAMES = 20
"""Most frames that a finding names: a Wireshark filter that a person can still paste."""


class Severity(IntEnum):
    """How bad it is if true."""

    INFO = 0
    NOTICE = 1
    WARNING = 2
    ERROR = 3


class Confidence(IntEnum):
    """How sure the evidence makes it: a passive trace often suggests more than it proves."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2


@dataclass(frozen=True)
class Measure:
    """One number behind a finding, with what it should have been."""

    name: str
    value: float | int | str
    unit: str = ""
    expected: str = ""


@dataclass(frozen=True)
class Finding:
    """One thing that a rule found.

    ``message`` is one sentence that stands alone; ``action`` one on what to do. ``flow`` and
    ``forward`` name the flow direction (null: the whole input), ``span_ns`` the time on the run's
    clock, ``frames`` at most 20 Wireshark frame numbers of input ``source``.
    """

    rule: str
    severity: Severity
    confidence: Confidence
    message: str
    action: str = ""
    source: int | None = None
    flow: int | None = None
    forward: bool | None = None
    span_ns: tuple[int, int] | None = None
    frames: tuple[int, ...] = ()
    measures: tuple[Measure, ...] = ()

    def __post_init__(self) -> None:
        if len(self.frames) > MAX_FRAMES:
            object.__setattr__(self, "frames", self.frames[:MAX_FRAMES])


@dataclass(frozen=True)
class Skipped:
    """A rule that could not judge, for the whole run or for one flow: absence is not health."""

    rule: str
    reason: str
    flow: int | None = None


@dataclass(frozen=True)
class Rule:
    """One rule: its module's docstring is its manual page."""

    code: str
    name: str
    summary: str
    check: Callable[[Evidence], list[Finding | Skipped]]
    doc: str = field(repr=False, default="")


@dataclass(frozen=True)
class Frame:
    """The three questions that each verdict answers, one sentence each."""

    limits: str
    """What limits the traffic."""
    sharing: str
    """How it is shared."""
    fallback: str
    """What Prague's classic-ECN fallback does."""
    starves: bool = False
    """Some flow starves beside another."""

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Each answer under its label, in the order in which they are shown."""
        return (
            ("Bottleneck", self.limits),
            ("Sharing", self.sharing),
            ("Fallback", self.fallback),
        )


@dataclass(frozen=True)
class Status:
    """Whether the traffic is L4S at all: how many of its conversations get how far on the way."""

    answer: str
    """`yes` (some flow gets all the way), `partly` (some is sent as L4S), `no` or `unknown`."""
    sentence: str
    """The answer and its reason; stands alone."""
    flows: int = 0
    """Conversations with data; all conversations where none carried data."""
    asked: int = 0
    """Of those, that asked for AccECN in their handshake."""
    accecn: int = 0
    """Of those, that got it."""
    ect1: int = 0
    """Of those, whose data is mostly ECT(1)."""
    l4s_queue: int = 0
    """Of those, that meet an L4S queue."""


@dataclass(frozen=True)
class Analysis:
    """What the rules found in one run: findings worst first, and what could not be judged."""

    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...] = ()
    rules: tuple[Rule, ...] = ()
    """The rules that were asked, in the order of their codes."""
    frame: Frame | None = None
    """The opening of the verdict; null where there are no packets."""
    status: Status | None = None
    """Whether this is L4S at all; null where nobody asked."""
    known_rules: int = 0
    """Rules that there are; more than `rules` where only some were asked."""
