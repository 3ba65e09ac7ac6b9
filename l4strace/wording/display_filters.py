"""Display filters that a person can paste into Wireshark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def frames_filter(frames: Sequence[int]) -> str:
    """Exactly these frames; empty without any."""
    return f"frame.number in {{{', '.join(str(frame) for frame in frames)}}}" if frames else ""


def flow_filter(row: Mapping[str, Any]) -> str:
    """One conversation of `flows`, both directions; a kernel log may know its ports alone."""
    hosts = [host for host in (row["client"], row["server"]) if host is not None]
    ports = [port for port in (row["client_port"], row["server_port"]) if port is not None]
    fields = [f"{'ipv6' if ':' in host else 'ip'}.addr == {host}" for host in hosts]
    protocol = "tcp" if row["transport"] in (None, "tcp") else "udp"
    return " && ".join([*fields, *(f"{protocol}.port == {port}" for port in ports)])
