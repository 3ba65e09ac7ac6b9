"""Display filters that a person can paste into Wireshark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def frames_filter(frames: Sequence[int]) -> str:
    """Exactly these frames; empty without any."""
    return f"frame.number in {{{', '.join(str(frame) for frame in frames)}}}" if frames else ""


def flow_filter(row: Mapping[str, Any]) -> str:
    """One conversation of `flows`, both directions."""
    field = "ipv6.addr" if ":" in str(row["client"]) else "ip.addr"
    return (
        f"{field} == {row['client']} && {field} == {row['server']} && "
        f"tcp.port == {row['client_port']} && tcp.port == {row['server_port']}"
    )
