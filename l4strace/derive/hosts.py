"""The host files as one table: what each host is set to, and its counters before and after the run.

Each access checks the type of what it finds: a host file is hostile input. What has another shape
than l4strace writes is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from l4strace.evidence import Capture
from l4strace.ingest.untrusted import mapping, text, whole
from l4strace.schema.evidence import HOSTS

COUNTERS = ("packets", "bytes", "drops", "overlimits", "requeues")
"""Counters of every qdisc (struct gnet_stats_basic and gnet_stats_queue); others are its own."""
MOST_TEXT = 400
"""Characters of a value: the options of fq have 300."""

Fact = tuple[str, str | None, str, str | None, int | None, int | None]
"""`topic` to `after` of one row."""
Qdiscs = dict[tuple[str, str, str], Mapping[str, Any]]
"""By interface, kind and handle."""


def table(capture: Capture) -> pl.DataFrame:
    """Every fact of every host file, in its order."""
    rows = [
        (number, str(host.get("path", "")), *fact)
        for number, host in enumerate(capture.host_files)
        for fact in _facts(host)
    ]
    return pl.DataFrame(rows, HOSTS.schema, orient="row")


def _facts(host: Mapping[str, Any]) -> Iterator[Fact]:
    yield from _values("kernel", None, mapping(host.get("kernel")))
    yield from _values("kernel", None, {"cpus": host.get("cpus")})
    yield from _values("sysctl", None, mapping(host.get("sysctls")))
    for name, module in mapping(host.get("modules")).items():
        yield "module", name, "loaded", "yes", None, None
        yield from _values("module", name, {"srcversion": mapping(module).get("srcversion")})
        yield from _values("module", name, mapping(mapping(module).get("parameters")))
    for name, setting in mapping(host.get("interfaces")).items():
        known = dict(mapping(setting))
        offloads = mapping(known.pop("offloads", None))
        yield from _values("interface", name, known)
        yield from _values("offload", name, offloads)
    before, after = mapping(host.get("before")), mapping(host.get("after"))
    yield from _qdiscs(_by_qdisc(before), _by_qdisc(after))
    yield from _counters("counter", None, before.get("netstat"), after.get("netstat"))
    yield from _sockets(host.get("sockets"))
    yield from _values("version", None, mapping(host.get("versions")))
    yield from _capture(mapping(host.get("capture")))


def _values(topic: str, subject: str | None, values: Mapping[str, Any]) -> Iterator[Fact]:
    """One fact for each plain value; null and nested ones have nothing to show."""
    for name, value in values.items():
        if (shown := _shown(value)) is not None:
            yield topic, subject, name, shown, None, None


def _shown(value: object) -> str | None:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (int, float)):
        return f"{value}"
    return text(value, MOST_TEXT)


def _counters(topic: str, subject: str | None, before: object, after: object) -> Iterator[Fact]:
    """Integers that were read before the run, after it, or both times."""
    first, last = mapping(before), mapping(after)
    for name in {**first, **last}:
        counts = whole(first.get(name)), whole(last.get(name))
        if counts != (None, None):
            yield topic, subject, name, None, *counts


def _by_qdisc(when: Mapping[str, Any]) -> Qdiscs:
    """The qdiscs of one moment by interface, kind and handle."""
    found: Qdiscs = {}
    for interface, state in mapping(when.get("interfaces")).items():
        rows = mapping(state).get("qdiscs")
        for row in map(mapping, rows if isinstance(rows, list) else ()):
            key = interface, text(row.get("kind")) or "?", text(row.get("handle")) or ""
            found[key] = row
    return found


def _qdiscs(before: Qdiscs, after: Qdiscs) -> Iterator[Fact]:
    for key in {**before, **after}:
        first, last = before.get(key, {}), after.get(key, {})
        subject = " ".join(key).strip()
        yield from _values("qdisc", subject, {"parent": (last or first).get("parent")})
        options = mapping((last or first).get("options"))
        shown = " ".join(
            f"{name.strip()} {value}"
            for name, item in options.items()
            if (value := _shown(item)) is not None
        )
        yield from _values("qdisc", subject, {"options": shown or None})
        common = ({name: row.get(name) for name in COUNTERS} for row in (first, last))
        yield from _counters("qdisc", subject, *common)
        yield from _counters("qdisc", subject, first.get("statistics"), last.get("statistics"))


def _sockets(rows: object) -> Iterator[Fact]:
    for row in map(mapping, rows if isinstance(rows, list) else ()):
        subject = f"{whole(row.get('sport'))} > {whole(row.get('dport'))}".replace("None", "?")
        yield from _values("socket", subject, {k: row.get(k) for k in ("cc", "ecn")})
        yield from _values("socket", subject, {"pacing_rate_bps": row.get("pacing_rate_bps")})


def _capture(summary: Mapping[str, Any]) -> Iterator[Fact]:
    """How the recording went: packets and kernel state, each with what was lost."""
    yield from _values("capture", None, summary)
    yield from _values("capture", "packets", mapping(summary.get("packets")))
    yield from _values("capture", "kernel", mapping(summary.get("kernel")))
