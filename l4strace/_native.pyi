"""What the native core offers; the seam is `native/src/python`.

Functions that read a file raise `l4strace.errors.InputError` with one line. `-` is standard input.
"""

from collections.abc import Callable, Iterator
from typing import Any

__version__: str

class ArrowTable:
    """Rows that ``polars.DataFrame(...)`` takes over without a copy."""

    def __arrow_c_array__(self, requested_schema: object = None) -> tuple[object, object]: ...
    def __len__(self) -> int: ...

class PacketBatches(Iterator[ArrowTable]):
    """Packets of one capture in batches; ``progress`` is (bytes read, bytes in all)."""

    progress: tuple[int, int]

    def __iter__(self) -> PacketBatches: ...
    def __next__(self) -> ArrowTable: ...

class Chunks(Iterator[bytes]):
    """Decompressed bytes of a file; one that breaks off ends early and says so in ``error``."""

    compression: str | None
    bytes_read: int
    error: str | None

    def __iter__(self) -> Chunks: ...
    def __next__(self) -> bytes: ...

class Follower:
    """A plain capture that something else is still writing, tracked piece by piece."""

    def __init__(self, path: str) -> None: ...
    def poll(self) -> dict[str, Any]:
        """The tables of `track`; `rounds` has only those that ended since the last call."""

def track(
    paths: list[str], progress: Callable[[int, int], Any] | None = None
) -> dict[str, Any]: ...
def packets(path: str, source: int = 0, numbers: list[int] | None = None) -> PacketBatches:
    """Batches of the `packets` table; ``numbers`` of its flows by first packet."""

def walk(path: str) -> tuple[int, int]:
    """Steps over the records of a capture: (records, bytes read)."""

def decode(path: str) -> int:
    """Decodes a capture and drops every packet: the number of TCP packets."""

def read_text(path: str) -> Chunks:
    """Chunks of a file, decompressed where it is gz, xz or zst."""

def compress_zst(source: str, target: str, level: int = 3) -> tuple[int, int]:
    """Writes ``source`` as zstd to ``target``: (bytes in, bytes out)."""

def gzip(text: str, level: int) -> bytes:
    """``text`` as gzip; the same text gives the same bytes."""

def prague_builds() -> list[dict[str, Any]]: ...
def prague_identify(bits: int, before: int, after: int) -> tuple[str, int] | None: ...
def prague_replay(
    *,
    classic_ecn: list[int | None],
    srtt_us: list[int],
    mdev_us: list[int],
    srtt_shift: list[int | None],
    min_rtt_us: list[int | None],
    rest_mdev: list[int | None],
    rest_depth: list[int | None],
) -> dict[str, list[Any]]: ...
def prague_alpha(
    bits: int, upscaled: list[int], delivered: list[int], ce: list[int]
) -> list[int]: ...
def prague_floor(build: str, alpha: int, classic_ecn: int) -> int: ...
def prague_reduce(bits: int, frac_cwnd: int, alpha: int) -> int: ...

class LogLines:
    """A text log, chunk by chunk; ``shape`` is `event` or `fields` (see native/src/ktext)."""

    def __init__(self, shape: str) -> None: ...
    def feed(self, chunk: bytes) -> ArrowTable | None: ...
    def finish(self) -> ArrowTable | None: ...
    def counts(self) -> dict[str, int]:
        """`rows`, `unread`, `first_unread` (line, 0 when none), `lost`."""
