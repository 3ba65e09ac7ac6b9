"""Reads what rules need from a `*.host.json`; `l4strace capture` writes it.

A host file is hostile input like any other: each access checks the type of what it finds.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from l4strace.schema.words import PRAGUE

Host = dict[str, Any]

NONE = "no host file (STEM.host.json)"
"""Why rules on hosts do not judge."""
MERGING = ("gro", "gso", "lro", "tso")
"""Offloads that make one packet of several before a capture sees them."""


def name(host: Host) -> str:
    """The file that describes the host."""
    return Path(str(host.get("path", "the host file"))).name


def kernel(host: Host) -> str:
    """`Linux 6.18.44`; empty when the file does not name it."""
    release = _mapping(host.get("kernel")).get("release")
    return f"Linux {release}" if isinstance(release, str) and release else ""


def sysctl(host: Host, key: str) -> int | None:
    """A numeric sysctl; null when it is absent or not a number."""
    try:
        return int(str(_mapping(host.get("sysctls")).get(key)))
    except ValueError:
        return None


def setting(host: Host, key: str) -> str | None:
    """A sysctl as text; null when it is absent."""
    value = _mapping(host.get("sysctls")).get(key)
    return value if isinstance(value, str) else None


def runs_prague(host: Host) -> bool:
    """Whether Prague is the default congestion control, or that of some socket."""
    default = _mapping(host.get("sysctls")).get("net.ipv4.tcp_congestion_control")
    sockets = host.get("sockets")
    used = [_mapping(s).get("cc") for s in sockets] if isinstance(sockets, list) else []
    return any(control in PRAGUE for control in (default, *used))


def prague_parameter(host: Host, key: str) -> str | None:
    """A parameter of the module tcp_prague as text; null when it is absent."""
    module = _mapping(_mapping(host.get("modules")).get("tcp_prague"))
    value = _mapping(module.get("parameters")).get(key)
    return None if value is None else str(value)


def prague_build(host: Host) -> str | None:
    """The srcversion of the module tcp_prague, which identifies its source; null when absent."""
    value = _mapping(_mapping(host.get("modules")).get("tcp_prague")).get("srcversion")
    return value if isinstance(value, str) else None


def offloads(host: Host) -> Iterator[tuple[str, list[str]]]:
    """Each interface with the offloads that are on, by name."""
    for interface, setting in _mapping(host.get("interfaces")).items():
        known = _mapping(_mapping(setting).get("offloads"))
        yield interface, sorted(offload for offload, on in known.items() if on is True)


def qdiscs(host: Host, when: str) -> Iterator[tuple[str, list[Host]]]:
    """Each interface with its qdiscs ``when`` = `before` or `after` the run."""
    for interface, state in _mapping(_mapping(host.get(when)).get("interfaces")).items():
        rows = _mapping(state).get("qdiscs")
        yield interface, [_mapping(row) for row in rows] if isinstance(rows, list) else []


def number(row: Host, key: str) -> int:
    """A counter of a qdisc; 0 when it is absent or not a number."""
    value = row.get(key)
    return value if isinstance(value, int) else 0


def _mapping(value: object) -> Host:
    return value if isinstance(value, dict) else {}
