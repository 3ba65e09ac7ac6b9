"""The values that rules make and outputs read. A rule never knows how its finding is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

if TYPE_CHECKING:
    import polars as pl

    from l4strace.evidence import Evidence

MAX_FRAMES = 20
"""Most frames that a finding names, so that its Wireshark filter can still be pasted."""


class Severity(IntEnum):
    """How bad a finding is if true."""

    INFO = 0
    NOTICE = 1
    WARNING = 2
    ERROR = 3


class Confidence(IntEnum):
    """How sure the evidence makes a finding: a passive trace often suggests more than it proves."""

    LOW = 0
    MEDIUM = 1
    HIGH = 2


class Measure(NamedTuple):
    """One number behind a finding, with what it should have been."""

    name: str
    value: float | int | str
    unit: str = ""
    expected: str = ""


class Cause(NamedTuple):
    """The finding that explains another one: its rule, flow and direction."""

    rule: str
    flow: int | None
    forward: bool | None


@dataclass(frozen=True)
class Finding:
    """One thing that a rule found.

    ``headline`` states it in a few words, as one of its rule's headlines; empty until it is judged
    where that is the first of them. ``message`` is one sentence that stands alone; ``action`` one
    on what to do. ``flow`` and ``forward`` name the flow direction (null: the whole input),
    ``span_ns`` the time on the run's clock, ``frames`` at most 20 Wireshark frame numbers of input
    ``source``, less those that are null. ``variant`` is a short code where somebody must
    distinguish two findings of one rule. ``cause`` names the finding that explains this one, and
    whose remedy is the one for both. ``rule`` is the code of the rule, which fills it in
    (`Rule.ask`).
    """

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
    variant: str = ""
    headline: str = ""
    cause: Cause | None = None
    rule: str = ""

    def __post_init__(self) -> None:
        known = tuple(frame for frame in self.frames if frame is not None)
        object.__setattr__(self, "frames", known[:MAX_FRAMES])


class Direction(TypedDict):
    """Whom a finding is about."""

    source: int
    flow: int
    forward: bool


def direction_of(row: Mapping[str, Any]) -> Direction:
    """The flow direction of a row, as a finding names it; a row of `paths` by its near capture."""
    source = row.get("source", row.get("near"))
    return {"source": source, "flow": row["flow"], "forward": row["forward"]}


class Skipped(NamedTuple):
    """A rule that could not judge, for the whole run or for one flow: absence is not health."""

    reason: str
    flow: int | None = None
    rule: str = ""


Judge = Callable[["Evidence"], list[Finding | Skipped]]


class Rule(NamedTuple):
    """One rule: its module's docstring is its manual page."""

    code: str
    name: str
    summary: str
    check: Judge
    doc: str = ""
    headlines: tuple[str, ...] = ()
    """What it may find, in at most nine words each, without a number that has no unit; ``{flow}``
    stands for the finding's flow. The first is that of a finding that names none."""

    over_udp: bool = False
    """It judges flows over UDP only, and is not asked of a run without any."""

    @classmethod
    def of(
        cls, module: str, doc: str | None, check: Judge, *headlines: str, over_udp: bool = False
    ) -> Rule:
        """The rule of a file: its name is code and name, the page's first line the summary."""
        code, _, name = module.rpartition(".")[2].partition("_")
        summary = (doc or "").partition("\n")[0]
        return cls(
            code.upper(), name.replace("_", "-"), summary, check, doc or "", headlines, over_udp
        )

    def ask(self, evidence: Evidence) -> list[Finding | Skipped]:
        """What the rule finds, under its code."""
        return [
            replace(one, rule=self.code)
            if isinstance(one, Finding)
            else one._replace(rule=self.code)
            for one in self.check(evidence)
        ]


class VerdictLines(NamedTuple):
    """The three questions that each verdict answers, one sentence each; empty what only packets
    show, where there are none."""

    limits: str
    """What limits the traffic."""
    sharing: str
    """How the flows share the bottleneck."""
    fallback: str
    """What Prague's classic-ECN fallback does."""
    starves: bool = False
    """True when some flow starves beside another."""

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """Each answer under its label, in the order in which they are shown."""
        answers = (
            ("Bottleneck", self.limits),
            ("Sharing", self.sharing),
            ("Fallback", self.fallback),
        )
        return tuple((label, text) for label, text in answers if text)


class Status(NamedTuple):
    """Whether the traffic is L4S at all: how many of its conversations meet each condition."""

    answer: str
    """`yes` (some flow meets all conditions), `partly` (some is sent as L4S), `no` or `unknown`."""
    sentence: str
    """The answer and its reason; stands alone."""
    flows: int = 0
    """Conversations with data; all conversations where none carried data."""
    asked: int = 0
    """Conversations that requested AccECN in their handshake."""
    accecn: int = 0
    """Conversations that negotiated AccECN."""
    ect1: int = 0
    """Conversations whose data is mostly ECT(1)."""
    l4s_queue: int = 0
    """Conversations that meet an L4S queue."""
    udp_flows: int = 0
    """Conversations over UDP; no other count includes them."""
    udp_ect1: int = 0
    """Conversations over UDP that are sent as ECT(1)."""
    udp_judged: int = 0
    """Conversations over UDP that both ends or the receiver's feedback show to the rules."""
    unjudged: str = ""
    """What was counted of them, and what is not judged and why; empty without any."""


class Check(NamedTuple):
    """One requirement on an L4S sender, and what the run shows of it."""

    requirement: str
    clause: str
    """Sections that state it, such as `RFC 9331 4.3 and A.1.4`."""
    verdict: str
    """`pass`, `fail` or `not shown`: nothing passes without evidence."""
    evidence: str
    """One sentence: the numbers, or what is missing."""


class Checklist(NamedTuple):
    """The requirements on the sender of one flow direction."""

    flow: int
    forward: bool
    checks: tuple[Check, ...]


class ProofPacket(NamedTuple):
    """One packet that proves a finding, decoded, with the units of the table `packets`.

    What only TCP has is null over UDP.
    """

    source: int
    frame: int
    ts_ns: int
    flow: int
    forward: bool
    ip_ecn: int
    tcp_flags: int | None
    ace: int | None
    counters: tuple[int | None, int | None, int | None] | None
    """EE0B, ECEB and EE1B of the AccECN option; null without option, or of a counter left out."""
    seq: int | None
    ack: int | None
    payload_bytes: int
    named: bool
    """The finding itself names this frame; the others lie around it."""
    shows: str
    """What the packet shows, in half a sentence."""
    offset: int
    """Offset of the packet's record in the decompressed capture."""
    captured_bytes: int
    wire_bytes: int
    header: bytes
    """How its TCP header begins (ports, sequence and acknowledgement number), or its UDP header
    (ports and length)."""
    number: int | None = None
    """Number of a packet over UDP, where it stands in clear."""
    reported: int | None = None
    """The highest number over UDP that it reports on, where that stands in clear."""


class Stretch(NamedTuple):
    """Packets of one flow from one moment to another, to be drawn."""

    source: int
    flow: int
    forward: bool
    """The direction whose data is drawn."""
    start_ns: int
    end_ns: int
    moments: dict[int, int]
    """When it shows a finding, by the finding's position in the analysis."""
    packets: pl.DataFrame | None = None
    """Rows of `packets`, over UDP those of `ingest.datagrams`, in the order of the capture; null
    until they are read."""


class Proof(NamedTuple):
    """The packets behind the findings of one analysis."""

    packets: dict[int, tuple[ProofPacket, ...]]
    """Packets by position of their finding in the analysis; of the worst findings only."""
    excerpt: bytes = b""
    """The packets behind the findings, without payload, as a pcapng file; empty without any."""
    absent: str = ""
    """Why packets of some input are left out, or nothing."""
    stretches: tuple[Stretch, ...] = ()
    """The packets around the findings, for charts."""


class Unmet(NamedTuple):
    """What the caller expected of the run and is not so."""

    expectation: str
    """As `--expect` names it."""
    reason: str
    action: str


@dataclass(frozen=True)
class Analysis:
    """What the rules found in one run: findings worst first, and what could not be judged."""

    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...] = ()
    rules: tuple[Rule, ...] = ()
    """The rules that ran, in the order of their codes."""
    frame: VerdictLines | None = None
    """The opening of the verdict; null where there are no packets."""
    status: Status | None = None
    """Whether the traffic is L4S at all; null where the caller did not need it."""
    known_rules: int = 0
    """Number of rules that exist; more than `rules` where only some ran."""
    checklists: tuple[Checklist, ...] = ()
    """The requirements on each L4S sender, the one that sent most first."""
    expected: tuple[str, ...] = ()
    """What the caller expected, as `--expect` names it."""
    unmet: tuple[Unmet, ...] = ()
    """The part of it that is not so; it leads the verdict."""
    proof: Proof | None = None
    """The packets behind the findings; null until `pipeline.prove` looks them up."""
