"""How flows, sources and amounts are called on the page."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from l4strace.wording import quantities

NONE = "\N{EN DASH}"
"""What stands where the data holds nothing."""


def flow_name(row: Mapping[str, Any]) -> str:
    """Client to server of a row of `flows`."""
    return direction_name(row, forward=True)


def direction_name(row: Mapping[str, Any], forward: bool) -> str:
    """Sender to receiver of one direction of a row of `flows`."""
    client = quantities.endpoint(row["client"], row["client_port"])
    server = quantities.endpoint(row["server"], row["server_port"])
    sender, receiver = (client, server) if forward else (server, client)
    return f"{sender} \N{RIGHTWARDS ARROW} {receiver}"


def direction_key(flow: int, forward: bool) -> str:
    """Id of a flow direction on the page: ``flow-3`` or ``flow-3-reverse``."""
    return f"flow-{flow}" if forward else f"flow-{flow}-reverse"


def number(value: float | int | None) -> str:
    """A plain number; a dash for null."""
    return NONE if value is None else quantity(value)


def quantity(value: float | int | str, unit: str = "") -> str:
    """What `units.quantity` says, with the micro sign that a page can show."""
    return micro(quantities.quantity(value, unit))


def micro(text: str) -> str:
    """``text`` with ``12 us`` as ``12 µs``: sentences of rules keep to what every terminal has."""
    return re.sub(r"(?<=\d )us\b", "µs", text)


def duration(us: float | None) -> str:
    """Microseconds in the size that reads best."""
    return NONE if us is None else quantity(us, "us")


def data_size(count: int | None) -> str:
    """Bytes with a decimal prefix."""
    return NONE if count is None else quantity(count, "byte")


def bit_rate(bps: float | None) -> str:
    """Bits per second with a decimal prefix."""
    return NONE if bps is None else quantity(bps, "bit/s")


def share(part: float | None, whole: float | None) -> str:
    """``part`` of ``whole`` in percent."""
    return NONE if part is None or not whole else quantities.share(part / whole)


def counted(count: int, noun: str) -> str:
    """``1 flow``, ``2 flows``."""
    return quantities.count(count, noun)


def short_names(paths: Sequence[str]) -> list[str]:
    """File names without their folders, as far as they stay different."""
    names = [path.rsplit("/", 1)[-1] or path for path in paths]
    return [
        name if names.count(name) == 1 else path for name, path in zip(names, paths, strict=True)
    ]
