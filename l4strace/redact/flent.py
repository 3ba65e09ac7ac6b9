"""flent data files: the polls of a socket, its congestion control and its addresses."""

from __future__ import annotations

from typing import Any

from l4strace.ingest import untrusted
from l4strace.ingest.logs.flent import COLUMNS
from l4strace.redact import words
from l4strace.redact.mask import Mask

POLLED = frozenset(field for field, _ in COLUMNS.values()) | {"t"}


def redacted(data: dict[str, Any], mask: Mask) -> dict[str, Any]:
    """The document with what the importer reads of it."""
    meta = untrusted.mapping(data.get("metadata"))
    series = untrusted.mapping(meta.get("SERIES_META")).items()
    values = untrusted.mapping(data.get("raw_values")).items()
    return {
        "metadata": {
            "NAME": "(removed)",
            "KERNEL_RELEASE": words.release(str(meta.get("KERNEL_RELEASE"))),
            **_addresses(meta, ("LOCAL_HOST", "HOST"), mask),
            "EGRESS_INFO": _addresses(untrusted.mapping(meta.get("EGRESS_INFO")), ("src",), mask),
            "SERIES_META": {
                test_name(n, mask): _series(untrusted.mapping(s), mask) for n, s in series
            },
        },
        "raw_values": {
            test_name(name, mask): [_poll(poll) for poll in polls if isinstance(poll, dict)]
            for name, polls in values
            if isinstance(polls, list)
        },
    }


def test_name(name: str, mask: Mask) -> str:
    """Another name for a test, which still shows whether this host sends."""
    return f"{'upload' if 'upload' in name.lower() else 'test'} {mask.name(name)}"


def _addresses(values: dict[str, Any], names: tuple[str, ...], mask: Mask) -> dict[str, str]:
    """The values that are addresses; a host given by name, or none, agrees with every address."""
    found = ((name, mask.address(str(values.get(name)))) for name in names)
    return {name: address for name, address in found if address is not None}


def _series(series: dict[str, Any], mask: Mask) -> dict[str, Any]:
    copy: dict[str, Any] = {}
    if (sent := untrusted.number(series.get("BYTES_SENT"))) is not None:
        copy["BYTES_SENT"] = sent
    if isinstance(control := series.get("CONG_CONTROL"), str):
        copy["CONG_CONTROL"] = words.congestion_control(control, mask)
    return copy


def _poll(poll: dict[str, Any]) -> dict[str, float | None]:
    return {name: untrusted.number(poll[name]) for name in sorted(POLLED) if name in poll}
