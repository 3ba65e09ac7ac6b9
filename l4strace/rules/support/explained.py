"""Facts of the host files that explain a finding, added to its measures.

A rule judges packets and kernel state; whoever reads its finding then looks up the same settings of
the host. They stand in the finding here, as recorded: none of them changes the judgment.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from l4strace.model import Finding, Measure, Severity
from l4strace.rules.support import hosts
from l4strace.rules.support.hosts import Host

Facts = Callable[[Host], Iterator[tuple[str, str]]]
MAX_FACTS = 4
"""Facts per finding: more would hide its own numbers."""


def _setting(*keys: str) -> Facts:
    def facts(host: Host) -> Iterator[tuple[str, str]]:
        for key in keys:
            if (value := hosts.setting(host, key)) is not None:
                yield key, value

    return facts


def _prague(host: Host) -> Iterator[tuple[str, str]]:
    """Which Prague this is, and whether its fallback is on."""
    if kernel := hosts.kernel(host):
        yield "kernel", kernel
    for key in ("prague_ecn_fallback", "prague_alpha_mode"):
        if (value := hosts.prague_parameter(host, key)) is not None:
            yield key, value
    if (build := hosts.prague_build(host)) is not None:
        yield "srcversion of tcp_prague", build


def _offloads(host: Host) -> Iterator[tuple[str, str]]:
    for interface, on in hosts.offloads(host):
        merging = [name for name in on if name in hosts.MERGING]
        yield f"segmentation offloads of {interface}", ", ".join(merging).upper() or "all off"


def _qdiscs(host: Host) -> Iterator[tuple[str, str]]:
    for interface, rows in hosts.qdiscs(host, "before"):
        if kinds := [str(row["kind"]) for row in rows if isinstance(row.get("kind"), str)]:
            yield f"qdisc of {interface}", ", ".join(kinds)


EXPLAINS: dict[str, tuple[Facts, ...]] = {
    "L4S003": (_offloads,),
    "L4S101": (_setting("net.ipv4.tcp_ecn"),),
    "L4S102": (_setting("net.ipv4.tcp_ecn"), _prague),
    "L4S109": (_setting("net.ipv4.tcp_ecn_option"),),
    "L4S113": (_setting("net.ipv4.tcp_ecn", "net.ipv4.tcp_congestion_control"),),
    "L4S205": (_prague,),
    "L4S206": (_qdiscs, _offloads),
    "L4S30": (_prague,),
    "L4S504": (_setting("net.ipv4.tcp_wmem", "net.ipv4.tcp_rmem"),),
    "L4S505": (_setting("net.ipv4.tcp_wmem", "net.ipv4.tcp_rmem"),),
}
"""Code of a rule, or how it begins -> the facts that explain what it finds."""


def explained(finding: Finding, host_files: Sequence[Host]) -> Finding:
    """``finding`` with what its hosts recorded about it; unchanged where they have nothing."""
    if finding.severity < Severity.NOTICE:
        return finding
    sources = next((found for code, found in EXPLAINS.items() if finding.rule.startswith(code)), ())
    named = len(host_files) > 1
    facts = [
        Measure(f"{name} ({hosts.name(host) if named else 'host file'})", value)
        for host in host_files
        for source in sources
        for name, value in source(host)
    ]
    return replace(finding, measures=(*finding.measures, *facts[:MAX_FACTS])) if facts else finding
