"""Where runs lie and results go: paths, and URLs that fsspec opens (ssh, s3 and the like)."""

from __future__ import annotations

import io
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import Any

from l4strace.core import _native
from l4strace.errors import InputError, UsageError, reason
from l4strace.ingest.file_names import shown
from l4strace.wording.quantities import quantity

CLUSTER = "Install it with: pip install 'l4strace[cluster]'"
VERSIONS = ("mtime", "LastModified", "last_modified", "ETag", "etag", "created")
"""Names by which file systems report the version of a file's content."""
MOST_BYTES = 256 << 20
"""Bytes of one file that is read whole: tables of 100,000 runs take 50 MB."""
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
"""A pipe without a writer does not stop the search for runs."""
PACKED = (b"\x1f\x8b", b"\xfd7zX", b"\x28\xb5\x2f\xfd")
"""First bytes of gzip, xz and zstd."""


@dataclass(frozen=True)
class File:
    """One file: as `diagnose` or fsspec opens it, and what shows that it changed."""

    path: str
    name: str
    """Below the folder that was asked for."""
    size: int
    version: str


def is_url(place: str) -> bool:
    """Whether the place is a URL that fsspec opens."""
    return "://" in place


def below(place: str) -> list[File]:
    """All files below a folder, sorted; hidden ones and links to folders are left out.

    Raises InputError when the folder cannot be read.
    """
    if is_url(place):
        return _below_url(place)
    found = []
    for folder, folders, names in os.walk(place, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(name for name in names if not name.startswith(".")):
            path = Path(folder, name)
            if path.is_file():
                found.append(_local(path, path.relative_to(place).as_posix()))
    return found


def file(place: str) -> File:
    """One file. Raises InputError when there is none."""
    if is_url(place):
        system, path = _system(place)
        try:
            return _remote(system.info(path), place, place.rpartition("/")[2])
        except (OSError, ValueError) as error:
            raise InputError(f"{shown(place)}: {shown(str(error))}") from error
    try:
        return _local(Path(place), Path(place).name)
    except (OSError, ValueError) as error:
        raise InputError(f"{shown(place)}: {reason(error)}") from error


def is_folder(place: str) -> bool:
    """Whether the place is a folder."""
    if is_url(place):
        system, path = _system(place)
        return bool(system.isdir(path))
    # Unlike `Path.is_dir`, false for names that no file can have.
    return os.path.isdir(place)  # noqa: PTH112


def read(place: str, most: int = MOST_BYTES) -> bytes:
    """A file of at most ``most`` bytes. Raises InputError, also for a pipe or a device."""
    try:
        if is_url(place):
            system, path = _system(place)
            with system.open(path, "rb") as opened:
                return bounded(opened, most)
        with os.fdopen(os.open(place, READ), "rb") as opened:
            return bounded(opened, most)
    except (OSError, ValueError) as error:
        raise InputError(f"{shown(place)}: {reason(error)}") from error


def head(place: str, most: int) -> bytes:
    """The first ``most`` bytes of a file, fewer where it is shorter. Raises InputError."""
    try:
        if is_url(place):
            system, path = _system(place)
            with system.open(path, "rb") as opened:
                return bytes(opened.read(most))
        with os.fdopen(os.open(place, READ), "rb") as opened:
            return opened.read(most)
    except OSError as error:
        raise InputError(f"{shown(place)}: {reason(error)}") from error


def bounded(opened: Any, most: int = MOST_BYTES) -> bytes:
    """The content of a regular file, or of one elsewhere. Raises ValueError for any other."""
    if isinstance(opened, io.BufferedReader) and not S_ISREG(os.fstat(opened.fileno()).st_mode):
        raise ValueError("not a regular file")
    content = bytes(opened.read(most + 1))
    if len(content) > most:
        raise ValueError(f"more than {quantity(most, 'byte')}")
    return content


def text(place: str, most: int) -> bytes:
    """A text of at most ``most`` bytes, decompressed where need be. Raises InputError."""
    content = read(place, most)
    return _unpacked(place, content, most) if content[:4].startswith(PACKED) else content


def _unpacked(place: str, content: bytes, most: int) -> bytes:
    with tempfile.NamedTemporaryFile(prefix="l4strace-sweep-") as copy:
        copy.write(content)
        copy.flush()
        held = bytearray()
        chunks = _native.read_text(copy.name)
        for chunk in chunks:
            held += chunk
            if len(held) > most:
                raise InputError(f"{shown(place)}: more than {quantity(most, 'byte')}")
    if chunks.error:
        raise InputError(f"{shown(place)}: {chunks.error}")
    return bytes(held)


def put(place: str, content: bytes) -> None:
    """A file at a URL in one step, as far as its file system can; its folders are made."""
    system, path = _system(place)
    system.makedirs(path.rpartition("/")[0], exist_ok=True)
    system.pipe_file(path + ".part", content)
    system.mv(path + ".part", path)


def remove(place: str) -> None:
    """Removes a file at a URL; one that is gone already is fine."""
    system, path = _system(place)
    if system.exists(path):
        system.rm_file(path)


def names(place: str) -> list[str]:
    """Names of the files in a folder at a URL, sorted; empty without such a folder."""
    system, path = _system(place)
    if not system.isdir(path):
        return []
    return sorted(str(name).rpartition("/")[2] for name in system.ls(path, detail=False))


@contextmanager
def fetched(files: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Local paths of ``files``: those that lie elsewhere are copied for as long as needed.

    Raises InputError for one that cannot be copied.
    """
    if not any(map(is_url, files)):
        yield tuple(files)
        return
    with tempfile.TemporaryDirectory(prefix="l4strace-sweep-") as folder:
        local = []
        for place in files:
            if not is_url(place):
                local.append(place)
                continue
            system, path = _system(place)
            # Names stay: companions of a capture are known by them.
            copy = str(Path(folder, path.rpartition("/")[2]))
            try:
                system.get_file(path, copy)
            except OSError as error:
                raise InputError(f"{shown(place)}: {shown(str(error))}") from error
            local.append(copy)
        yield tuple(local)


def _local(path: Path, name: str) -> File:
    status = path.stat()
    return File(str(path), name, status.st_size, str(status.st_mtime_ns))


def _below_url(place: str) -> list[File]:
    system, root = _system(place)
    try:
        found = system.find(root, detail=True)
    except OSError as error:
        raise InputError(f"{shown(place)}: {shown(str(error))}") from error
    base = root.rstrip("/") + "/"
    protocol = place.partition("://")[0]
    files = []
    for path in sorted(found):
        name = path.removeprefix(base)
        if not any(part.startswith(".") for part in name.split("/")):
            files.append(_remote(found[path], f"{protocol}://{path}", name))
    return files


def _remote(info: dict[str, Any], place: str, name: str) -> File:
    version = next((str(info[key]) for key in VERSIONS if info.get(key)), "")
    return File(place, name, int(info.get("size") or 0), version)


def _system(place: str) -> tuple[Any, str]:
    """The file system of a URL, and the path on it. Raises UsageError without fsspec."""
    try:
        import fsspec
    except ImportError as error:
        raise UsageError(f"{shown(place)}: URLs need fsspec", CLUSTER) from error
    try:
        system, path = fsspec.core.url_to_fs(place)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{shown(place)}: {shown(str(error))}") from error
    return system, str(path)


def _refuse(error: OSError) -> None:
    raise InputError(f"{error.filename}: {reason(error)}") from error
