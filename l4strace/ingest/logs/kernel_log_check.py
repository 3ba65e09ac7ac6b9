"""What a line of a kernel log must be (collectors/FORMAT.md), checked one by one."""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from l4strace.ingest.logs.samples import SAMPLES
from l4strace.schema.words import EVENTS

TYPES = {
    "u8": pl.UInt8(),
    "u16": pl.UInt16(),
    "u32": pl.UInt32(),
    "u64": pl.UInt64(),
    "i64": pl.Int64(),
    "f64": pl.Float64(),
    "bool": pl.Boolean(),
    "str": pl.String(),
}
"""Field types of the format."""
RANGES = {"u8": (0, 2**8), "u16": (0, 2**16), "u32": (0, 2**32), "u64": (0, 2**64)} | {
    "i64": (-(2**63), 2**63)
}
CLOCKS = ("realtime", "monotonic", "boottime", "unknown")
REQUIRED = ("collector", "kernel", "command", "clock", "fields")


def check_line(number: int, line: bytes, state: dict[str, Any]) -> list[str]:
    """Faults of one line. ``state`` carries header, counts and whether the trailer was seen."""
    try:
        record = json.loads(line)
    except ValueError as error:
        return [f"no JSON ({error})"]
    if not isinstance(record, dict):
        return ["no JSON object"]
    if number == 1:
        return _header(record, state)
    if state.get("trailer"):
        return ["something after the trailer"]
    kind = record.get("type")
    if kind == "sample":
        return _sample(record, state)
    if kind == "trailer":
        return _trailer(record, state)
    if kind == "lost":
        return _wants(record, {"ts_ns": int, "where": str, "count": int})
    if kind == "aggregate":
        return _wants(record, {"name": str, "value": (int, dict)})
    if kind == "note":
        return _wants(record, {"text": str})
    return [f"unknown type {kind!r}"]


def finished(state: dict[str, Any]) -> list[str]:
    """Faults that show at the end."""
    return [] if state.get("trailer") else ["no trailer: the log was cut short"]


def _header(record: dict[str, Any], state: dict[str, Any]) -> list[str]:
    state["fields"] = {}
    state["events"] = {}
    if record.get("type") != "header" or record.get("format") != "l4strace-kernel-log":
        return ["the first line must be a header of format l4strace-kernel-log"]
    faults = [f"header lacks {key}" for key in REQUIRED if key not in record]
    if record.get("version") != 1:
        faults.append(f"unknown version {record.get('version')!r}")
    faults += _clock(record.get("clock"))
    fields = record.get("fields")
    if isinstance(fields, dict):
        state["fields"] = fields
        for name, kind in fields.items():
            if kind not in TYPES:
                faults.append(f"field {name}: unknown type {kind!r}")
            elif name in SAMPLES and not _fits(kind, SAMPLES[name]):
                faults.append(f"field {name}: {kind} is not the column's type")
    return faults


def _fits(kind: str, column: pl.DataType) -> bool:
    """A declared type may be narrower than the column, not of another nature."""
    kinds = {pl.String: "str", pl.Boolean: "bool", pl.Float64: "f64"}
    wanted = kinds.get(type(column))
    return kind == wanted if wanted else kind not in kinds.values()


def _clock(clock: object) -> list[str]:
    if not isinstance(clock, dict):
        return ["clock is not an object"]
    faults = [] if clock.get("id") in CLOCKS else [f"unknown clock {clock.get('id')!r}"]
    if clock.get("id") != "unknown":
        faults += _wants(clock, {"unix_offset_ns": int, "uncertainty_ns": int})
    return faults


def _sample(record: dict[str, Any], state: dict[str, Any]) -> list[str]:
    faults = _wants(record, {"ts_ns": int, "event": str})
    event = record.get("event")
    state["events"][event] = state["events"].get(event, 0) + 1
    if event not in EVENTS:
        faults.append(f"unknown event {event!r}")
    if "sk" not in record and "sport" not in record:
        faults.append("neither sk nor ports")
    for name, value in record.items():
        if name == "type" or value is None:
            continue
        kind = state["fields"].get(name)
        if kind is None:
            faults.append(f"field {name} is not declared in the header")
        elif not _is(value, kind):
            faults.append(f"field {name}: {value!r} is no {kind}")
    return faults


def _is(value: object, kind: str) -> bool:
    if kind == "str":
        return isinstance(value, str)
    if kind == "bool" or isinstance(value, bool):
        return kind == "bool" and isinstance(value, bool)
    if kind == "f64":
        return isinstance(value, (int, float))
    low, high = RANGES[kind]
    return isinstance(value, int) and low <= value < high


def _trailer(record: dict[str, Any], state: dict[str, Any]) -> list[str]:
    state["trailer"] = True
    faults = _wants(record, {"ts_ns": int, "events": dict, "lost": dict})
    if "clock" in record:
        faults += _wants(record["clock"], {"unix_offset_ns": int, "uncertainty_ns": int})
    counted = {event: count for event, count in state["events"].items() if count}
    stated = {event: count for event, count in (record.get("events") or {}).items() if count}
    if stated != counted:
        faults.append(f"trailer counts {stated}, the log holds {counted}")
    return faults


def _wants(record: object, keys: dict[str, Any]) -> list[str]:
    if not isinstance(record, dict):
        return ["not an object"]
    return [
        f"{key} is missing or of the wrong type"
        for key, kind in keys.items()
        if not isinstance(record.get(key), kind) or isinstance(record.get(key), bool)
    ]
