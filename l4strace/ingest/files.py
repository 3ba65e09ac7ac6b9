"""Which files make one run, told apart by content, and which lie beside a capture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from l4strace import _native
from l4strace.errors import InputError

COMPRESSIONS = (".gz", ".xz", ".zst")
CAPTURES = (".pcap", ".pcapng", ".cap", ".dump", ".ntar")
LOGS_BESIDE = (".kernel.ndjson", ".trace.txt", ".bpftrace.json", ".ss.txt")
"""Endings of logs that belong to a capture with the same stem."""
HOST_BESIDE = ".host.json"

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


def stem(path: str) -> str:
    """The name of a run: `dir/run.pcapng.zst` -> `run`; standard input is called `stdin`."""
    if path == "-":
        return "stdin"
    name = Path(path).name
    for ending in (*COMPRESSIONS, *CAPTURES, *LOGS_BESIDE, HOST_BESIDE):
        name = name.removesuffix(ending) or name
    return name


@dataclass(frozen=True)
class Inputs:
    """Paths of one run by kind."""

    captures: list[str]
    logs: list[str]
    hosts: list[str]


def of_run(paths: Sequence[str]) -> Inputs:
    """``paths`` by kind, and the logs and host files beside the captures among them.

    Raises InputError for a path that cannot be opened.
    """
    captures: list[str] = []
    logs: list[str] = []
    hosts: list[str] = []
    for path in dict.fromkeys(paths):
        kind = _kind(path)
        (captures if kind == "capture" else hosts if kind == "host" else logs).append(path)
    for path in captures:
        logs += [p for p in _beside(path, LOGS_BESIDE) if not _named(p, logs)]
        hosts += [p for p in _beside(path, (HOST_BESIDE,)) if not _named(p, hosts)]
    return Inputs(captures, logs, hosts)


def _named(path: str, paths: list[str]) -> bool:
    return any(p != "-" and Path(p).resolve() == Path(path).resolve() for p in paths)


def _beside(capture: str, endings: tuple[str, ...]) -> list[str]:
    """Files in the capture's folder with its stem and one of ``endings``, compressed or not."""
    if capture == "-":
        return []
    base = Path(capture).parent / stem(capture)
    names = [f"{base}{ending}{packed}" for ending in endings for packed in ("", *COMPRESSIONS)]
    return [name for name in names if Path(name).is_file()]


def _kind(path: str) -> str:
    """`capture`, `host` or `log`. A pipe is a capture: it can be read only once."""
    if path == "-" or Path(path).is_fifo():
        return "capture"
    head = _head(path)
    if head[:4] in CAPTURE_MAGICS or not head:
        return "capture"
    if head.lstrip()[:1] == b"{" and b'"l4strace-host"' in head[:4096]:
        return "host"
    return "log"


def _head(path: str) -> bytes:
    """The first decompressed bytes."""
    if Path(path).is_dir():
        raise InputError(f"{path}: is a folder", "Name the captures in it.")
    try:
        with Path(path).open("rb"):
            pass
        return next(_native.read_text(path), b"")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
