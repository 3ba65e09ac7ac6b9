"""Reads the log of a collector, and computes what DCTCP's alpha must have become."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from l4strace.core import _native

MAX_ALPHA = 1024
"""DCTCP_MAX_ALPHA of tcp_dctcp.c."""
SHIFT_G = 4


def read_log(path: Path) -> list[dict[str, Any]]:
    """The lines of a log, header first and trailer last."""
    text = b"".join(_native.read_text(str(path))).decode()
    return [json.loads(line) for line in text.splitlines()]


def samples(lines: list[dict[str, Any]], event: str, dport: int) -> list[dict[str, Any]]:
    """The samples of one event towards one port, in the order of time."""
    return [
        line
        for line in lines
        if line["type"] == "sample" and line["event"] == event and line["dport"] == dport
    ]


def dctcp_update(before: dict[str, Any]) -> int:
    """dctcp_update_alpha in its own integers: alpha after the update that this state enters."""
    alpha = round(before["alpha"] * MAX_ALPHA)
    delivered = (before["delivered"] - before["old_delivered"]) % 2**32
    marked = (before["delivered_ce"] - before["old_delivered_ce"]) % 2**32
    alpha -= (alpha >> SHIFT_G) or alpha
    if marked:
        alpha = min(alpha + (marked << (10 - SHIFT_G)) // max(1, delivered), MAX_ALPHA)
    return alpha


def wrong_updates(lines: list[dict[str, Any]], dport: int) -> tuple[int, list[dict[str, Any]]]:
    """Updates of alpha after the socket's init, and those that the next one does not confirm."""
    (init,) = samples(lines, "init", dport)
    updates = [one for one in samples(lines, "alpha", dport) if one["ts_ns"] > init["ts_ns"]]
    wrong = [
        before
        for before, after in itertools.pairwise(updates)
        if dctcp_update(before) != round(after["alpha"] * MAX_ALPHA)
    ]
    return len(updates), wrong
