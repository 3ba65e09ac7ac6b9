"""Evidence packets: the decoded rows that prove each finding, and a capture of them to download."""

from __future__ import annotations

import base64
from typing import Any, NamedTuple

from l4strace.evidence import traffic
from l4strace.model import Finding, ProofPacket, Stretch
from l4strace.page.case import Case
from l4strace.page.drawing import packet_rows
from l4strace.page.sections.findings import shown_ids
from l4strace.schema.words import ECN_FIELD
from l4strace.wording.amounts import NONE, data_size, typeset
from l4strace.wording.moments import span
from l4strace.wording.quantities import count

TITLE = "Evidence packets"

FLAGS = ((0x001, "FIN"), (0x002, "SYN"), (0x004, "RST"), (0x008, "PSH"), (0x020, "URG"))
"""TCP flags without meaning for ECN. ACK is nearly always set; AE, CWR and ECE are the ACE
field."""
COUNTERS = ("E0B", "CEB", "E1B")


class Row(NamedTuple):
    """One packet."""

    frame: str
    time: str
    to: str
    codepoint: str
    flags: str
    ace: str
    counters: str
    seq: str
    ack: str
    payload: str
    shows: str
    named: bool


class PacketChart(NamedTuple):
    """Where a finding stands in a stretch of packets: ``moment`` counts ns from its start."""

    stretch: int
    moment: int
    about: str


class Group(NamedTuple):
    """The packets of one finding; ``key`` is the id of its card, ``chart`` null without one."""

    key: str
    rule: str
    about: str
    source: str
    udp: bool
    rows: tuple[Row, ...]
    chart: PacketChart | None = None


class PacketsSection(NamedTuple):
    """``excerpt`` is base64, empty where there is none; ``absent`` why packets are missing;
    ``stretches`` what packet charts draw, by number."""

    groups: tuple[Group, ...]
    excerpt: str
    name: str
    about: str
    absent: str
    stretches: tuple[dict[str, Any], ...] = ()

    @property
    def charted(self) -> frozenset[str]:
        """Ids of the cards that have a packet chart."""
        return frozenset(group.key for group in self.groups if group.chart)

    @property
    def of_tcp(self) -> bool:
        """Whether columns of TCP are shown."""
        return any(group.rows and not group.udp for group in self.groups)

    @property
    def keys(self) -> frozenset[str]:
        """Ids of the cards whose packets are listed."""
        return frozenset(group.key for group in self.groups if group.rows)


def build(case: Case) -> PacketsSection:
    """Findings in their order, as far as their packets were looked up."""
    proof = case.analysis.proof
    if proof is None:
        return PacketsSection((), "", "", "", "The packets were not looked up.")
    keys = shown_ids(case.analysis.findings)
    charted = {place for stretch in proof.stretches for place in stretch.moments}
    groups = tuple(
        _group(case, place, keys[place], proof.packets.get(place, ()))
        for place in sorted(proof.packets.keys() | charted)
        if place in keys
    )
    distinct = len({(one.source, one.frame) for each in proof.packets.values() for one in each})
    nothing = "" if groups else "No finding names a packet."
    return PacketsSection(
        groups,
        base64.b64encode(proof.excerpt).decode(),
        f"{_stem(case)}-evidence.pcapng",
        f"{count(distinct, 'packet')} without payload, {data_size(len(proof.excerpt))}",
        proof.absent or nothing,
        tuple(_drawn(case, stretch) for stretch in proof.stretches),
    )


def _drawn(case: Case, stretch: Stretch) -> dict[str, Any]:
    here = traffic(case.evidence).flows.filter(source=stretch.source, flow=stretch.flow)
    return packet_rows.columns(stretch, case.axis.origin_ns, here.row(0, named=True))


def _chart(case: Case, place: int) -> PacketChart | None:
    """The stretch that shows the finding."""
    stretches = case.analysis.proof.stretches if case.analysis.proof else ()
    for number, stretch in enumerate(stretches):
        if place not in stretch.moments or stretch.packets is None or stretch.packets.is_empty():
            continue
        way = f"flow {stretch.flow}" + ("" if stretch.forward else ", server to client")
        ends = (case.axis.seconds(ns) for ns in (stretch.start_ns, stretch.end_ns))
        times = " to ".join(f"{end:.3f}" for end in ends)
        about = f"{count(stretch.packets.height, 'packet')} of {way}, t={times} s"
        return PacketChart(number, stretch.moments[place] - stretch.start_ns, about)
    return None


def _stem(case: Case) -> str:
    """Name of the first input up to its first dot, of harmless characters."""
    first = next(iter(case.inputs.values()), "run").partition(".")[0]
    return "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "_" for c in first) or "run"


def _group(case: Case, place: int, key: str, packets: tuple[ProofPacket, ...]) -> Group:
    finding = case.analysis.findings[place]
    return Group(
        key=key,
        rule=finding.rule,
        about=_about(case, finding),
        source=case.inputs.get(_source(case, place, packets), ""),
        udp=any(packet.tcp_flags is None for packet in packets),
        rows=tuple(_row(case, packet) for packet in packets),
        chart=_chart(case, place),
    )


def _about(case: Case, finding: Finding) -> str:
    """Headline and time of the finding: the message stands in its card, or in the verdict."""
    about = typeset(finding.headline or finding.message)
    alike = [one for one in case.analysis.findings if one.headline == finding.headline]
    if len({one.flow for one in alike}) > 1 and finding.flow is not None:
        about += f", flow {finding.flow}"
    return f"{about}, {span(case.evidence, *finding.span_ns)}" if finding.span_ns else about


def _source(case: Case, place: int, packets: tuple[ProofPacket, ...]) -> int:
    """The capture of the packets, or that of the stretch that shows the finding."""
    stretches = case.analysis.proof.stretches if case.analysis.proof else ()
    shown = [one.source for one in packets]
    return (shown + [one.source for one in stretches if place in one.moments])[0]


def _row(case: Case, packet: ProofPacket) -> Row:
    flags = packet.tcp_flags or 0
    known = zip(COUNTERS, packet.counters or (), strict=False)
    return Row(
        frame=str(packet.frame),
        time=f"{case.axis.seconds(packet.ts_ns):.6f}",
        to="server" if packet.forward else "client",
        codepoint=ECN_FIELD[packet.ip_ecn],
        flags=" ".join(name for bit, name in FLAGS if flags & bit) or NONE,
        ace=NONE if packet.ace is None else f"{packet.ace:03b}",
        counters=" ".join(
            f"{name}\N{NO-BREAK SPACE}{value:,}" for name, value in known if value is not None
        )
        or NONE,
        seq=_number(packet.number if packet.seq is None else packet.seq),
        ack=_number(packet.reported if packet.ack is None else packet.ack),
        payload=f"{packet.payload_bytes:,}",
        shows=packet.shows,
        named=packet.named,
    )


def _number(value: int | None) -> str:
    return NONE if value is None else f"{value:,}"
