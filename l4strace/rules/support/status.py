"""Is this L4S at all: how far the flows of a run get on the way to an L4S queue.

Four steps make a flow L4S: its handshake requests AccECN, the other end accepts (RFC 9331 section
4.2), its data is ECT(1) (section 4.1), and an L4S queue meets it. The status counts the
conversations that pass each step and gives the reason why none gets further.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from l4strace.evidence import Evidence, Row, over_udp
from l4strace.model import Finding, Status
from l4strace.rules.support import datagrams, hosts, subjects
from l4strace.schema.words import ACCECN_REQUEST, BOTTLENECKS, CAPTURES, CODEPOINTS
from l4strace.wording.quantities import count

REQUESTING = 3
"""The value of net.ipv4.tcp_ecn with which a host requests AccECN: TCP_ECN_IN_ACCECN_OUT_ACCECN in
include/net/tcp_ecn.h."""
ACCEPTING = (4, 5)
"""Values with which it only accepts AccECN, likewise."""
OPENINGS = {"yes": "Yes", "partly": "In part", "no": "No", "unknown": "Unknown"}
CE = CODEPOINTS["ce"]
BLEACHED, REMARKED = "L4S104", "L4S105"
ON_THE_WAY = {BLEACHED: "erases ECT(1)", REMARKED: "re-marks ECT(1)"}
"""What a path does to ECT(1), by the rule that finds it."""
GIVEN_UP = {"L4S115": "tried ECT before", "L4S210": "gave L4S up"}
"""What a sender over UDP made of ECN before it sent Not-ECT for good, by the rule that finds it."""
Faults = dict[str, frozenset[int]]
"""Conversations of which the path does not leave ECT(1) alone, by the rule that finds it."""


@dataclass(frozen=True)
class Steps:
    """Conversations by step: one row each, with the columns of `_conversations`."""

    flows: pl.DataFrame
    path_faults: Faults
    named: str
    """`4 flows with data`."""

    @cached_property
    def asked(self) -> pl.DataFrame:
        """Requested AccECN."""
        return self.flows.filter("asked")

    @cached_property
    def accecn(self) -> pl.DataFrame:
        """Got it, too."""
        return self.asked.filter("accecn")

    @cached_property
    def ect1(self) -> pl.DataFrame:
        """Have ECT(1) data, too."""
        return self.accecn.filter("ect1")

    @cached_property
    def met(self) -> pl.DataFrame:
        """Meet an L4S queue, too."""
        return self.ect1.filter(pl.col("kind") == "l4s")

    @cached_property
    def answer(self) -> str:
        """One of the answers of `Status`."""
        if self.met.height:
            return "yes"
        if self.ect1.height:
            erased = pl.col("flow").is_in(self.path_faults[BLEACHED])
            return "no" if self.ect1.select(erased.all()).item() else "partly"
        # ECT(1) without a handshake in the capture may be L4S, CE hides how a packet left, and
        # without data there is nothing to mark.
        hidden = (pl.col("ect1") & ~pl.col("shown")) | (
            pl.col("accecn") & (pl.col("codepoint").is_null() | (pl.col("codepoint") == CE))
        )
        return "unknown" if self.flows.filter(hidden).height else "no"


def status(evidence: Evidence, findings: Sequence[Finding] = ()) -> Status:
    """The answer, its sentence and the counts of conversations behind it.

    ``findings`` tell what the path does to ECT(1).
    """
    faults = {
        rule: frozenset(f.flow for f in findings if f.rule == rule and f.flow is not None)
        for rule in (*ON_THE_WAY, *GIVEN_UP)
    }
    flows = _conversations(evidence)
    steps = Steps(flows, faults, _named(evidence, flows))
    if steps.flows.is_empty():
        return _over_udp(evidence, Status("unknown", _nothing(evidence)), faults)
    clauses = _clauses(steps) if steps.asked.height else [_nobody_asked(evidence, steps)]
    of_tcp = Status(
        steps.answer,
        ", ".join(clauses),
        flows=steps.flows.height,
        asked=steps.asked.height,
        accecn=steps.accecn.height,
        ect1=steps.ect1.height,
        l4s_queue=steps.met.height,
    )
    return _over_udp(evidence, of_tcp, faults)


def _nothing(evidence: Evidence) -> str:
    """Why no conversation over TCP is there."""
    if not evidence.kernel.is_empty():
        return "a kernel log holds no packets"
    captured = evidence.sources.filter(pl.col("kind").is_in(CAPTURES)).height
    if evidence.sources.height > captured == 0:
        return "a log holds no packets"
    return "no TCP packet and no flow over UDP"


def _over_udp(evidence: Evidence, of_tcp: Status, faults: Faults) -> Status:
    """Adds the flows over UDP; ``of_tcp.sentence`` is that of TCP alone, without its opening."""
    known, ect1 = datagrams.flows(evidence), datagrams.ect1(evidence)
    answer, parts = of_tcp.answer, [of_tcp.sentence]
    if known.height:
        answer, clause = _clause_over_udp(evidence, of_tcp, faults)
        parts = [of_tcp.sentence] if of_tcp.flows or evidence.kernel.height else []
        # What is sent as L4S comes first.
        parts.insert(0 if answer != of_tcp.answer else len(parts), clause)
    return of_tcp._replace(
        answer=answer,
        sentence=f"{OPENINGS[answer]}: {'; '.join(parts)}.",
        udp_flows=known.height,
        udp_ect1=ect1.height,
        udp_judged=datagrams.judged(evidence),
        unjudged=datagrams.unjudged(evidence),
    )


def _clause_over_udp(evidence: Evidence, of_tcp: Status, faults: Faults) -> tuple[str, str]:
    """The answer of all transports, and the clause on flows over UDP."""
    known, ect1 = datagrams.flows(evidence), datagrams.ect1(evidence)
    arrives, change = _changed_on_the_way(ect1, faults)
    clause = datagrams.clause(evidence, arrives=arrives or ect1.is_empty()) + change
    clause += _given_up(known, faults)
    if arrives:
        met, queue = _queue_over_udp(evidence, ect1)
        yes = of_tcp.answer == "yes"
        said = queue if ect1["reported"].any() or met or not yes else ""
        return "yes" if met or yes else "partly", clause + said
    if of_tcp.answer == "unknown" and not of_tcp.flows and known["codepoint"].count():
        return "no", clause
    return of_tcp.answer, clause


def _queue_over_udp(evidence: Evidence, ect1: pl.DataFrame) -> tuple[int, str]:
    """How many of these flows meet an L4S queue; `; it probably meets an L4S queue`, or why not."""
    one = ect1.height == 1
    it, meets = ("it", "meets") if one else ("they", "meet")
    queues = subjects.bottlenecks(evidence).join(ect1.select("flow"), on="flow", how="semi")
    if queues.is_empty() and not ect1["reported"].any():
        return 0, f"; which queue {it} {meets} is not judged"
    met = queues.filter(pl.col("kind") == "l4s")
    if met.height:
        who = "it" if one else f"{met.height:,} of these"
        likely = subjects.hedge(max(met["confidence"].fill_null(0.0)))
        return met.height, f"; {who} {likely}{_verb(met, 'meets', 'meet')} an L4S queue"
    known = queues.filter(pl.col("kind") != "unknown").sort("confidence", descending=True)
    if known.is_empty():
        return 0, f"; the packets do not show which queue {it} {meets}"
    queue = BOTTLENECKS[known["kind"][0]]
    likely = subjects.hedge(known["confidence"][0])
    # What one flow meets, others need not.
    who = "it" if one else f"flow {known['flow'][0]}"
    return 0, f"; {who} {likely}meets no L4S queue (bottleneck: {queue})"


def _given_up(known: pl.DataFrame, faults: Faults) -> str:
    """`; flow 0 gave L4S up (L4S210)`, of the largest that did."""
    for rule, what in GIVEN_UP.items():
        hit = known.filter(pl.col("flow").is_in(faults[rule]))
        if hit.height:
            return f"; flow {hit['flow'][0]} {what} ({rule})"
    return ""


def _changed_on_the_way(ect1: pl.DataFrame, faults: Faults) -> tuple[bool, str]:
    """Whether ECT(1) of any of these flows may arrive as it left, and what the path does to it."""
    sent = set(ect1["flow"])
    changed = {rule: sent & faults[rule] for rule in ON_THE_WAY}
    arrives = bool(sent.difference(*changed.values()))
    for rule, hit in changed.items():
        if hit and not arrives:
            return False, f", but the path {ON_THE_WAY[rule].replace('ECT(1)', 'it')} ({rule})"
        if hit:
            return True, f"; the path {ON_THE_WAY[rule]} of {count(len(hit), 'flow')} ({rule})"
    return arrives, ""


def _conversations(evidence: Evidence) -> pl.DataFrame:
    """One row per conversation with data (any conversation where none has data), largest first.

    Columns: `flow`, `bytes`, `codepoint` of most of its data, null without any; `shown` (the
    handshake shows what was asked for), `asked`, `accecn`, `ect1`; `kind` and `confidence` of the
    bottleneck that its ECT(1) data meets; `reason` for its mode.
    """
    counters = [f"data_{name}" for name in CODEPOINTS]
    over_tcp = ~pl.col("flow").is_in(over_udp(evidence)["flow"].implode())
    sent = evidence.directions.select(*subjects.KEY, "data_packets", "payload_bytes", *counters)
    carried = (
        subjects.once(evidence, sent.filter(over_tcp))
        .group_by("flow")
        .agg(pl.col("data_packets", *counters).sum(), bytes=pl.col("payload_bytes").max())
    )
    if carried.filter(pl.col("data_packets") > 0).height:
        carried = carried.filter(pl.col("data_packets") > 0)
    accecn = pl.col("mode") == "accecn"
    handshakes = (
        evidence.flows.select("flow", "mode", "syn_ace", "mode_reason")
        .filter(over_tcp)
        .group_by("flow")
        .agg(
            shown=(pl.col("syn_ace").is_not_null() | (pl.col("mode") != "unknown")).any(),
            asked=((pl.col("syn_ace") == ACCECN_REQUEST) | accecn).any(),
            accecn=accecn.any(),
            reason=pl.col("mode_reason").drop_nulls().first(),
        )
    )
    scalable = subjects.scalable(evidence).select(subjects.DIRECTION)
    queues = subjects.bottlenecks(evidence).join(scalable, on=subjects.DIRECTION, how="semi")
    # Where both directions are ECT(1), the one that meets an L4S queue decides.
    best = queues.sort(pl.col("kind") != "l4s", -pl.col("confidence")).unique("flow", keep="first")
    return (
        carried.join(handshakes, on="flow", how="left")
        .join(best.select("flow", "kind", "confidence"), on="flow", how="left")
        .with_columns(
            pl.col("shown", "asked", "accecn").fill_null(False),
            codepoint=datagrams.most({f"data_{of}": to for of, to in CODEPOINTS.items()}),
            ect1=pl.col("flow").is_in(scalable["flow"].implode()),
        )
        .sort("bytes", "flow", descending=[True, False], nulls_last=True)
    )


def _clauses(steps: Steps) -> list[str]:
    """How many get how far, and why none gets further."""
    alone = steps.flows.height == 1
    clauses = [*_agreed(steps, alone)]
    if steps.accecn.is_empty():
        return clauses
    if steps.ect1.is_empty():
        return [*clauses, _how_sent(steps.accecn.row(0, named=True), alone)]
    number = "" if alone else f"{steps.ect1.height:,} of these "
    clauses.append(f"{number}{_verb(steps.ect1, 'sends', 'send')} ECT(1)")
    if steps.answer == "no":
        return [*clauses, f"but the path erases it on the way ({BLEACHED})"]
    return [*clauses, _queue(steps, alone) + _on_the_way(steps)]


def _agreed(steps: Steps, alone: bool) -> Iterator[str]:
    """Who requested AccECN, and who got it."""
    first = steps.asked.row(0, named=True)
    who = f"flow {first['flow']}" if alone else f"of {steps.named} {steps.asked.height:,}"
    if alone and steps.accecn.height:
        yield f"flow {first['flow']} negotiated AccECN"
        return
    yield f"{who} requested AccECN"
    if steps.accecn.is_empty():
        reason = (first["reason"] or "The handshake does not show why").rstrip(".")
        yield f"{'but did not get it' if alone else 'but none got it'}. {reason}"
    else:
        yield f"{steps.accecn.height:,} got it"


def _how_sent(largest: Row, alone: bool) -> str:
    """The codepoint of data that is not ECT(1)."""
    if largest["codepoint"] is None:
        return "but carried no data" if alone else "but none carried data"
    hides = ", which hides how it was sent" if largest["codepoint"] == CE else ""
    whose = "but its data" if alone else f"but the data of flow {largest['flow']}"
    return f"{whose} is {largest['codepoint']} at this capture{hides}"


def _on_the_way(steps: Steps) -> str:
    """`; the path re-marks ECT(1) (L4S105)`, where it does."""
    for rule, what in ON_THE_WAY.items():
        hit = steps.ect1.filter(pl.col("flow").is_in(steps.path_faults[rule]))
        if hit.height:
            return f"; the path {what} ({rule})"
    return ""


def _queue(steps: Steps, alone: bool) -> str:
    if (met := steps.met).height:
        likely = subjects.hedge(max(met["confidence"].fill_null(0.0)))
        named = f" (flow {met['flow'][0]})" if met.height == 1 and not alone else ""
        number = "" if alone else f"{met.height:,} "
        return f"and {number}{likely}{_verb(met, 'meets', 'meet')} an L4S queue{named}"
    largest = steps.ect1.row(0, named=True)
    flow = f"flow {largest['flow']}"
    if largest["kind"] in (None, "unknown"):
        return f"but the packets do not show which queue {'it' if alone else flow} meets"
    queue = f"bottleneck of {flow}: {BOTTLENECKS[largest['kind']]}"
    likely = subjects.hedge(largest["confidence"])
    return f"but {likely}{'meets no' if alone else 'none meets an'} L4S queue ({queue})"


def _nobody_asked(evidence: Evidence, steps: Steps) -> str:
    """Without any request: the setting that explains it, or that no handshake was captured."""
    flows = steps.flows
    ect1 = flows.filter("ect1").height
    carrying = f"{ect1:,} {'has' if ect1 == 1 else 'have'} ECT(1) data"
    unseen = flows.height - flows.filter("shown").height
    if unseen == flows.height:
        sent = carrying if ect1 else "none has ECT(1) data"
        return f"no handshake of {steps.named} was captured, {sent}"
    also = f", although {carrying}" if ect1 else ""
    if flows.height == 1:
        nobody = f"flow {flows['flow'][0]} did not request"
    elif unseen:
        seen = f"{flows.height - unseen:,} of {steps.named}"
        nobody = f"none of the captured handshakes ({seen}) requested"
    else:
        nobody = f"none of {steps.named} requested"
    return f"{nobody} AccECN{also}{_settings(evidence)}"


def _settings(evidence: Evidence) -> str:
    """`: net.ipv4.tcp_ecn is 2 (Linux 6.18.44, run.host.json)`, where that is the reason."""
    known = [
        f"net.ipv4.tcp_ecn is {value}{', which only accepts it' if value in ACCEPTING else ''} "
        f"({', '.join(filter(None, (hosts.kernel(host), hosts.name(host))))})"
        for host in evidence.host_files
        if (value := hosts.sysctl(host, "net.ipv4.tcp_ecn")) not in (None, REQUESTING)
    ]
    return f": {'; '.join(known)}" if known else ""


def _named(evidence: Evidence, flows: pl.DataFrame) -> str:
    """`4 flows with data`; beside others `4 flows over TCP with data`."""
    over_tcp = "" if datagrams.flows(evidence).is_empty() else " over TCP"
    with_data = " with data" * bool(flows["data_packets"].max())
    return f"{count(flows.height, 'flow')}{over_tcp}{with_data}"


def _verb(flows: pl.DataFrame, one: str, many: str) -> str:
    return one if flows.height == 1 else many
