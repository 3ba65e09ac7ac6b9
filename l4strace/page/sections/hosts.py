"""Hosts: what each recorded host was set to, and what its counters did during the run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, NamedTuple

import polars as pl

from l4strace.page.case import Case
from l4strace.wording.amounts import NONE, bit_rate
from l4strace.wording.quantities import count

TITLE = "Hosts"

MAX_SOCKETS = 6
"""Sockets that are named per congestion control; the rest is counted."""
MAX_ROWS = 60
"""Rows of a table of one host; the rest is counted."""
LEADING = (
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_ecn_option",
    "net.ipv4.tcp_congestion_control",
    "net.core.default_qdisc",
)
"""Settings that decide whether a host speaks L4S; the others are folded away."""
TCP_ECN = {
    "0": "no ECN",
    "1": "requests and accepts classic ECN, no AccECN",
    "2": "accepts classic ECN, requests none",
    "3": "requests and accepts AccECN",
    "4": "accepts AccECN, requests classic ECN",
    "5": "accepts AccECN, requests no ECN",
}
"""net.ipv4.tcp_ecn in words (enum tcp_ecn_mode in include/net/tcp_ecn.h)."""
MARKS = ("ecn_mark", "ecn-mark", "ce_mark", "step_marks", "step_mark", "step-mark")
"""Counters of CE marks: sch_dualpi2, sch_codel, sch_fq_codel, sch_pie and sch_fq. The dualpi2 of
mainline's tc has hyphens in its JSON."""


class Fact(NamedTuple):
    """A name and a value as text."""

    name: str
    value: str


class QdiscRow(NamedTuple):
    """One qdisc; counters are what they grew by, or as read once."""

    interface: str
    kind: str
    options: str
    packets: str
    drops: str
    marks: str
    others: str


class HostRow(NamedTuple):
    """One host file."""

    name: str
    facts: tuple[Fact, ...]
    sockets: tuple[Fact, ...]
    qdiscs: tuple[QdiscRow, ...]
    modules: tuple[Fact, ...]
    counters: tuple[Fact, ...]
    sysctls: tuple[Fact, ...]
    left_out: str


class HostsSection(NamedTuple):
    """``builds`` are what the kernel logs prove; ``absent`` is the reason for no host, or empty."""

    hosts: tuple[HostRow, ...]
    builds: tuple[str, ...]
    absent: str


ABSENT = (
    "No host file among the inputs: kernel, sysctls, qdiscs and offloads are not known. "
    "l4strace capture writes one (STEM.host.json)."
)


def build(case: Case) -> HostsSection:
    """Hosts in the order in which their files were read."""
    table = case.evidence.hosts
    hosts = tuple(
        _host(rows) for rows in table.partition_by("host", maintain_order=True) if rows.height
    )
    return HostsSection(hosts, tuple(_builds(case)), "" if hosts else ABSENT)


def _builds(case: Case) -> Iterator[str]:
    """`Flow 1 runs the 24-bit buggy build of Prague: ...`, from the logs' own numbers."""
    known = case.evidence.builds.filter(pl.col("build").is_not_null())
    for (built, reason), rows in known.group_by("build", "reason", maintain_order=True):
        flows = ", ".join(str(flow) for flow in rows["flow"].unique().sort()[:MAX_SOCKETS])
        named = f"flow{'' if rows['flow'].n_unique() == 1 else 's'} {flows}"
        yield f"Prague of {named} is the {built} build: {str(reason).rstrip('.')}."


def _host(rows: pl.DataFrame) -> HostRow:
    topics = {
        topic: rows.filter(pl.col("topic") == topic).to_dicts()
        for topic in rows["topic"].unique().to_list()
    }
    sysctls = [Fact(row["name"], row["value"]) for row in topics.get("sysctl", ())]
    known = {fact.name: fact.value for fact in sysctls}
    sysctls = [fact for fact in sysctls if fact.name not in LEADING]
    sockets = _sockets(topics.get("socket", []))
    qdiscs = list(_qdiscs(topics.get("qdisc", [])))
    modules = list(_modules(topics.get("module", [])))
    counters = list(_grown(topics.get("counter", [])))
    lengths = (len(sockets), len(qdiscs), len(modules), len(counters), len(sysctls))
    more = sum(max(length - MAX_ROWS, 0) for length in lengths)
    return HostRow(
        name=PurePath(rows["path"][0]).name,
        facts=tuple(_facts(topics, known))[:MAX_ROWS],
        sockets=tuple(sockets[:MAX_ROWS]),
        qdiscs=tuple(qdiscs[:MAX_ROWS]),
        modules=tuple(modules[:MAX_ROWS]),
        counters=tuple(counters[:MAX_ROWS]),
        sysctls=tuple(sysctls[:MAX_ROWS]),
        left_out=f"{count(more, 'more row')} not shown (l4strace export hosts)." if more else "",
    )


def _facts(topics: dict[str, list[dict[str, Any]]], sysctls: dict[str, str]) -> Iterator[Fact]:
    kernel = {row["name"]: row["value"] for row in topics.get("kernel", ())}
    if "release" in kernel:
        machine = f", {kernel['machine']}" if "machine" in kernel else ""
        cpus = f", {kernel['cpus']} CPU" if "cpus" in kernel else ""
        yield Fact("kernel", f"Linux {kernel['release']}{machine}{cpus}")
    for name in LEADING:
        if name in sysctls:
            means = f" ({TCP_ECN[sysctls[name]]})" if _is_ecn(name, sysctls[name]) else ""
            yield Fact(name.rpartition(".")[2], sysctls[name] + means)
    for interface, on in _offloads(topics).items():
        yield Fact(f"offloads of {interface}", ", ".join(on) or "all off")
    yield from _recording(topics.get("capture", []))
    if versions := [f"{row['name']}: {row['value']}" for row in topics.get("version", ())]:
        yield Fact("tools", "; ".join(versions))


def _is_ecn(name: str, value: str) -> bool:
    return name == "net.ipv4.tcp_ecn" and value in TCP_ECN


def _offloads(topics: dict[str, list[dict[str, Any]]]) -> dict[str, list[str]]:
    """Offloads that are on, by interface; `interface` facts come before them."""
    found: dict[str, list[str]] = {}
    for row in topics.get("offload", ()):
        on = found.setdefault(row["subject"], [])
        if row["value"] == "on":
            on.append(row["name"])
    return found


def _recording(rows: list[dict[str, Any]]) -> Iterator[Fact]:
    """How the run was recorded, and what that lost."""
    known = {(row["subject"], row["name"]): row["value"] for row in rows}
    if ("packets", "packets") in known:
        backend = known.get(("packets", "backend"), "?")
        snaplen = known.get((None, "snaplen"))
        cut = f", snaplen {snaplen}" if snaplen else ""
        only = f", filter {known[None, 'filter']}" if known.get((None, "filter")) else ""
        packets = _grouped(known["packets", "packets"])
        yield Fact("packets", f"{packets} by {backend}{cut}{only}")
    if ("kernel", "source") in known:
        lost = known.get(("kernel", "lost"), "?")
        events = _grouped(known.get(("kernel", "events"), "?"))
        source = known["kernel", "source"]
        yield Fact("kernel state", f"{events} samples by {source}, {_grouped(lost)} lost")
    if (None, "command") in known:
        code = known.get((None, "command_exit"), "?")
        yield Fact("command", f"{known[None, 'command']} (exit code {code})")
    if (None, "seconds") in known:
        ended = known.get((None, "ended"), "?")
        yield Fact("recorded", f"{known[None, 'seconds']} s, ended by {ended}")


def _grouped(text: str) -> str:
    """`98163` as `98,163`; other text as it is."""
    return f"{int(text):,}" if re.fullmatch("[0-9]{1,18}", text) else text


def _sockets(rows: list[dict[str, Any]]) -> list[Fact]:
    """Connections open at the end, by congestion control."""
    controls: dict[str, list[str]] = {}
    rates = {row["subject"]: row["value"] for row in rows if row["name"] == "pacing_rate_bps"}
    for row in rows:
        if row["name"] == "cc":
            rate = rates.get(row["subject"])
            paced = f" (paced at {bit_rate(float(rate))})" if rate else ""
            controls.setdefault(row["value"], []).append(row["subject"] + paced)
    return [
        Fact(control, "; ".join(named[:MAX_SOCKETS]) + _and_more(len(named)))
        for control, named in controls.items()
    ]


def _and_more(sockets: int) -> str:
    return f" and {sockets - MAX_SOCKETS} more" if sockets > MAX_SOCKETS else ""


def _modules(rows: list[dict[str, Any]]) -> Iterator[Fact]:
    modules: dict[str, list[str]] = {}
    for row in rows:
        said = modules.setdefault(row["subject"], [])
        if row["name"] != "loaded":
            said.append(f"{row['name']} {row['value']}")
    for name, values in modules.items():
        yield Fact(name, ", ".join(values) or "loaded")


def _qdiscs(rows: list[dict[str, Any]]) -> Iterator[QdiscRow]:
    by_qdisc: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        by_qdisc.setdefault(row["subject"], {})[row["name"]] = row
    for subject, facts in by_qdisc.items():
        interface, kind, *_ = [*subject.split(" "), "?"]
        marks = [facts[name] for name in MARKS if name in facts]
        shown = {"packets", "drops", "bytes", "parent", "options", *MARKS}
        others = [
            f"{name} {grown}"
            for name, row in facts.items()
            if name not in shown and (grown := _growth(row)) not in ("0", NONE)
        ]
        yield QdiscRow(
            interface=interface,
            kind=kind,
            options=facts["options"]["value"] if "options" in facts else "",
            packets=_growth(facts.get("packets")),
            drops=_growth(facts.get("drops")),
            marks=", ".join(_growth(row) for row in marks) or NONE,
            others=", ".join(others),
        )


def _grown(rows: list[dict[str, Any]]) -> Iterator[Fact]:
    """Counters of the kernel, by what they grew in the run."""
    for row in rows:
        yield Fact(row["name"], _growth(row))


def _growth(row: dict[str, Any] | None) -> str:
    """How much a counter grew; as read where it was read once; a dash where it never was."""
    if row is None or (row["before"], row["after"]) == (None, None):
        return NONE
    if row["before"] is None or row["after"] is None:
        when = "after" if row["before"] is None else "before"
        return f"{row[when]:,} ({when} the run)"
    return f"{row['after'] - row['before']:,}"
