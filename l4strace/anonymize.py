"""Addresses mapped so that a page can be shared: common prefixes stay common.

Each bit is flipped by a keyed hash of the bits before it (Xu et al., "Prefix-preserving IP address
anonymization", 2002). The key is random and forgotten: the same address maps alike within one run
and differently in the next, and nobody can map back.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from ipaddress import ip_address
from pathlib import PurePath
from typing import Any

import polars as pl

from l4strace.evidence import Capture

Mapping = Callable[[str], str]

ADDRESS = re.compile(r"(?:\d{1,3}\.){3}\d{1,3}|(?:[0-9A-Fa-f]{0,4}:){2,7}[0-9A-Fa-f]{0,4}")


def anonymized(capture: Capture, key: bytes | None = None) -> Capture:
    """``capture`` with mapped addresses, file names without folders, and no comments."""
    mapped = mapping(key or secrets.token_bytes(32))
    return replace(
        capture,
        sources=capture.sources.with_columns(
            pl.col("path").map_elements(_file_name, pl.String),
            pl.lit(None, pl.String).alias("comment"),
        ),
        flows=_each(capture.flows, ("client", "server"), mapped),
        kernel=_each(capture.kernel, ("sk", "extra"), lambda text: in_text(text, mapped)),
        stats=_each(capture.stats, ("detail",), lambda text: in_text(text, mapped)),
        host_files=tuple(_host(host, mapped) for host in capture.host_files),
    )


def mapping(key: bytes) -> Mapping:
    """The map of addresses under ``key``; any other text is returned unchanged."""

    @cache
    def mapped(text: str) -> str:
        try:
            address = ip_address(text)
        except ValueError:
            return text
        bits = address.max_prefixlen
        value = int(address)
        out = 0
        for bit in range(bits):
            prefix = value >> (bits - bit)
            word = f"{bits}/{bit}/{prefix}".encode()
            flip = hashlib.blake2b(word, key=key, digest_size=1).digest()[0] & 1
            out = out << 1 | (value >> (bits - 1 - bit) & 1) ^ flip
        return str(type(address)(out))

    return mapped


def in_text(text: str, mapped: Mapping) -> str:
    """``text`` with every address in it mapped."""
    return ADDRESS.sub(lambda found: mapped(found[0]), text)


def _each(frame: pl.DataFrame, columns: tuple[str, ...], change: Mapping) -> pl.DataFrame:
    """Changes each distinct value once."""
    for column in columns:
        values = frame[column].unique().drop_nulls().to_list()
        frame = frame.with_columns(
            pl.col(column).replace_strict(
                values, [change(value) for value in values], default=None, return_dtype=pl.String
            )
        )
    return frame


def _file_name(path: str) -> str:
    return path if path == "-" else PurePath(path).name


def _host(value: Any, mapped: Mapping) -> Any:
    if isinstance(value, dict):
        return {
            key: _file_name(item) if key == "path" else _host(item, mapped)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_host(item, mapped) for item in value]
    return in_text(value, mapped) if isinstance(value, str) else value
