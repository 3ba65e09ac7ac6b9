"""Names of flows, directions and inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from l4strace.schema.words import TRANSPORTS

ARROW = " > "
"""Sender to receiver where only ASCII is safe."""
FANCY_ARROW = " \N{RIGHTWARDS ARROW} "
"""Sender to receiver on the page."""


def endpoint(address: str | None, port: int | None) -> str:
    """`10.0.0.1:80` or `[2001:db8::1]:80`; `?` for what a kernel log does not name."""
    host = "?" if address is None else f"[{address}]" if ":" in address else address
    return f"{host}:{'?' if port is None else port}"


def ends(row: Mapping[str, Any], forward: bool | None = True) -> tuple[str, str]:
    """Sender and receiver of one direction of a row of `flows`; client and server for null.

    The receiver is followed by the network of both, such as `(vlan 10)`, where they have one.
    """
    client = endpoint(row["client"], row["client_port"])
    server = endpoint(row["server"], row["server_port"])
    network = f" ({row['network']})" if row.get("network") else ""
    if forward is False:
        return server, client + network
    return client, server + network


def direction_name(row: Mapping[str, Any], forward: bool = True, arrow: str = ARROW) -> str:
    """Sender to receiver of one direction of a row of `flows`."""
    return arrow.join(ends(row, forward))


def direction_key(flow: int, forward: bool) -> str:
    """Id of a flow direction on the page: ``flow-3`` or ``flow-3-reverse``."""
    return f"flow-{flow}" if forward else f"flow-{flow}-reverse"


def short_names(paths: Sequence[str]) -> list[str]:
    """File names without their folders, as far as they stay different."""
    names = [path.rsplit("/", 1)[-1] or path for path in paths]
    return [
        name if names.count(name) == 1 else path for name, path in zip(names, paths, strict=True)
    ]


def negotiated(flow: dict[str, Any]) -> str:
    """What TCP negotiated; the transport of a flow over UDP, where nothing shows that."""
    transport = flow["transport"]
    if transport is None or transport == "tcp":
        mode = flow["mode"] or "unknown"
        return "AccECN" if mode == "accecn" else str(mode)
    return TRANSPORTS[transport]


def sender(transport: str, control: str | None) -> str:
    """`QUIC, prague`; `UDP Prague` alone, which names its congestion control itself."""
    if not control or control in transport.lower():
        return transport
    return f"{transport}, {control}"


DSCPS = {0: "best effort", 8: "CS1", 34: "AF41", 40: "CS5", 45: "NQB", 46: "EF", 48: "CS6"}
"""DiffServ codepoints with a name that people use (RFC 2474, 2597, 3246 and 9956)."""


def dscp(value: int) -> str:
    """`DSCP 45 (NQB)`."""
    return f"DSCP {value}" + (f" ({DSCPS[value]})" if value in DSCPS else "")
