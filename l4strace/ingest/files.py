"""Which files make one run, identified by content, and which lie beside a capture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from l4strace.core import _native
from l4strace.errors import InputError, reason
from l4strace.ingest import file_names

COMPRESSIONS = (".gz", ".xz", ".zst")
CAPTURES = (".pcap", ".pcapng", ".cap", ".dump", ".ntar")
LOGS_BESIDE = (
    *(".kernel.ndjson", ".trace.txt", ".bpftrace.json", ".ss.txt", ".tc.txt"),
    *(".qlog", ".sqlog", ".prague.json", ".prague.txt", ".scream.csv"),
    ".txrx.csv",
)
"""Endings of logs that belong to a capture with the same stem."""
HOST_BESIDE = ".host.json"
KEYS_BESIDE = ".keys"
BESIDE = {"log": LOGS_BESIDE, "host": (HOST_BESIDE,), "keys": (KEYS_BESIDE,)}
"""Endings of what may lie beside a capture, by kind."""
HEAD_BYTES = 1 << 16
PAGE = b'<meta name="generator" content="l4strace'
"""Mark near the top of every page that l4strace writes."""
KEYS = re.compile(
    rb"\A(?:[ \t]*(?:#[^\n]*)?\r?\n)*(?:QUIC_)?(?:CLIENT|SERVER|EXPORTER|EARLY)_[A-Z_0-9]{6,60}"
    rb" [0-9a-fA-F]{64} [0-9a-fA-F]{64}"
)
"""First bytes of what a TLS library writes to SSLKEYLOGFILE."""
IPERF3 = re.compile(rb'\A\s*\{\s*"start"\s*:\s*\{')
"""First bytes of the output of `iperf3 --json`."""

CAPTURE_MAGICS = {
    bytes.fromhex(magic)
    for magic in (
        "a1b2c3d4",  # classic pcap, microseconds
        "d4c3b2a1",
        "a1b23c4d",  # nanoseconds
        "4d3cb2a1",
        "a1b2cd34",  # modified (Kuznetzov)
        "34cdb2a1",
        "0a0d0d0a",  # pcapng section header
    )
}


def unpacked(name: str) -> str:
    """``name`` without the endings of compressions: `run.flent.gz` -> `run.flent`."""
    for ending in COMPRESSIONS:
        name = name.removesuffix(ending)
    return name


def stem(path: str) -> str:
    """The name of a run: `dir/run.pcapng.zst` -> `run`; standard input is called `stdin`."""
    if path == "-":
        return "stdin"
    name = Path(path).name
    for ending in (*COMPRESSIONS, *CAPTURES, *LOGS_BESIDE, HOST_BESIDE, KEYS_BESIDE):
        name = name.removesuffix(ending) or name
    return name


class Inputs(NamedTuple):
    """Paths of one run by kind, as `file_names.opened` takes them."""

    captures: list[str]
    logs: list[str]
    hosts: list[str]
    logs_beside: list[str]
    """Companions that nobody named: they lie beside a capture."""
    hosts_beside: list[str]
    keys: list[str]
    """Key logs of TLS, which open QUIC."""
    keys_beside: list[str]
    pages: list[str]
    """Pages of l4strace itself, which `diagnose run.*` names too."""
    results: list[str]
    """What iperf3 printed: rates of a run, for `sweep`; no rule reads them."""


def of_run(paths: Sequence[str], companions: bool = True) -> Inputs:
    """``paths`` by kind, and, with ``companions``, logs and host files beside the captures.

    Raises InputError for a path that cannot be opened.
    """
    found: dict[str, list[str]] = {"capture": [], "log": [], "host": [], "keys": []}
    found |= {"page": [], "results": []}
    for path in dict.fromkeys(paths):
        name = file_names.registered(path)
        found[_kind(name)].append(name)
    taken = {_place(path) for path in paths if path != "-"}
    beside: dict[str, list[str]] = {"log": [], "host": [], "keys": []}
    for path in dict.fromkeys(paths) if companions else ():
        if file_names.shown(path) in found["capture"]:
            for kind, endings in BESIDE.items():
                new = [p for p in _beside(path, endings) if _place(p) not in taken]
                taken |= {_place(p) for p in new}
                beside[kind] += map(file_names.registered, new)
    captures, logs, hosts, keys, pages, results = found.values()
    logs_beside, hosts_beside, keys_beside = beside.values()
    return Inputs(
        captures, logs, hosts, logs_beside, hosts_beside, keys, keys_beside, pages, results
    )


def _place(path: str) -> Path:
    return Path(path).resolve()


def _beside(capture: str, endings: tuple[str, ...]) -> list[str]:
    """Files in the capture's folder with its stem and one of ``endings``, compressed or not."""
    if capture == "-":
        return []
    base = Path(capture).parent / stem(capture)
    names = [f"{base}{ending}{packed}" for ending in endings for packed in ("", *COMPRESSIONS)]
    return [name for name in names if _is_file(name)]


def _is_file(path: str) -> bool:
    """Whether ``path`` is a file; an ending may make its name longer than a file system allows."""
    try:
        return Path(path).is_file()
    except OSError:
        return False


def _kind(path: str) -> str:
    """`capture`, `host`, `keys`, `log`, `page` or `results`.

    A pipe is a capture: it is read once.
    """
    if path == "-" or Path(file_names.opened(path)).is_fifo():
        return "capture"
    start = _head(path)
    if start[:4] in CAPTURE_MAGICS or not start:
        return "capture"
    if start.lstrip()[:1] == b"{" and (b'"l4strace-host"' in start or _is_host_name(path)):
        return "host"
    if KEYS.match(start):
        return "keys"
    if PAGE in start:
        return "page"
    if IPERF3.match(start):
        return "results"
    return "log"


def head(path: str) -> bytes:
    """The first 64 KiB, decompressed; chunks may be of any size."""
    held = b""
    for chunk in _native.read_text(file_names.opened(path)):
        held += chunk
        if len(held) >= HEAD_BYTES:
            break
    return held


def _is_host_name(path: str) -> bool:
    """A host file whose first bytes do not state its format is known by its name."""
    return unpacked(path).endswith(HOST_BESIDE)


def _head(path: str) -> bytes:
    """The first decompressed bytes."""
    opened = Path(file_names.opened(path))
    try:
        if opened.is_dir():
            raise InputError(f"{path}: a folder, not a file", "Name the captures in it.")
        with opened.open("rb"):
            pass
        return head(path)
    except ValueError as error:
        # A name with a NUL character.
        raise InputError(f"{file_names.shown(path)}: not a file name ({error})") from error
    except OSError as error:
        raise InputError(f"{path}: {reason(error)}") from error
