"""What the user wants recorded."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from l4strace.errors import OutputError, UsageError

ENDINGS = (
    ".pcapng",
    ".kernel.ndjson",
    ".kernel.ndjson.zst",
    ".kernel.ndjson.gz",
    ".host.json",
    ".tc.txt",
)
"""Endings of the files of a run, each after STEM."""
ANOTHER = "Choose another with -o."
SERVER = re.compile(r"(?P<name>\[[^][\s]+\]|[^][:\s]+)(:(?P<port>\d{1,5}))?")
HTTPS = 443
"""Port of a server that is named without one."""


@dataclass(frozen=True)
class Request:
    """One recording."""

    interfaces: tuple[str, ...]
    stem: Path
    duration_s: float | None = None
    filter_text: str = ""
    snaplen: int = 128
    ring_mb: int | None = None
    kernel: str = "auto"
    backend: str = "auto"
    interval_ms: float = 10.0
    command: tuple[str, ...] = ()
    count: int | None = None
    buffer_mb: int | None = None
    kernel_buffer_mb: int | None = None
    offloads: str = "keep"
    all_namespaces: bool = False

    def options(self, interfaces: tuple[str, ...] = ()) -> list[str]:
        """Options of the collector `record`, without output and command."""
        options = [f"--kernel={self.kernel}", f"--snaplen={self.snaplen}"]
        options += [f"--filter={self.filter_text}", f"--backend={self.backend}"]
        options += [f"--interval={self.interval_ms}", f"--offloads={self.offloads}"]
        options += [f"--interface={name}" for name in interfaces or self.interfaces]
        options += ["--all-namespaces"] if self.all_namespaces else []
        for name, value in (
            ("duration", self.duration_s),
            ("ring", self.ring_mb),
            ("count", self.count),
            ("buffer", self.buffer_mb),
            ("kernel-buffer", self.kernel_buffer_mb),
        ):
            options += [f"--{name}={value}"] if value is not None else []
        return options


def check_interfaces(names: Iterable[str]) -> None:
    """Raises UsageError for what cannot be an interface, an option that was taken for one."""
    for name in names:
        if not name or name.startswith("-") or "/" in name or any(c.isspace() for c in name):
            raise UsageError(f"{name!r} is not the name of an interface", "`ip link` lists them.")


def server_of(text: str) -> tuple[str, int]:
    """Name and port of NAME, NAME:PORT, [ADDRESS]:PORT or an IPv6 address. Raises UsageError."""
    bare = text.count(":") > 1 and not text.startswith("[")
    found = SERVER.fullmatch(text)
    name, port = (text, None) if bare else (found["name"], found["port"]) if found else ("", None)
    name = name.removeprefix("[").removesuffix("]")
    number = int(port or HTTPS)
    if not name or name.startswith("-") or not 0 < number < 1 << 16:
        raise UsageError(f"{text!r} is not NAME or NAME:PORT", "Example: server.example:5201.")
    return name, number


def check_command(command: Sequence[str]) -> None:
    """Raises UsageError if there is no program of that name: before anything is recorded."""
    if command and shutil.which(command[0]) is None:
        raise UsageError(f"{command[0]}: no such command", "Nothing was recorded.")


def stem_of(output: str) -> Path:
    """The stem that `-o` means: endings of a run are stripped; by default one with the time.

    In a folder, or a path that ends with `/`, the run is named by the time; the folder is created.
    Raises OutputError when it cannot be written there, UsageError for an option that was taken for
    a name.
    """
    by_time = f"l4strace-{datetime.now():%Y%m%d-%H%M%S}"
    if not output:
        return checked(Path(by_time))
    if output.startswith("-"):
        raise UsageError(f"{output}: a name cannot begin with -", "Choose another name with -o.")
    if output.endswith("/") or Path(output).is_dir():
        folder = Path(output)
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(f"{output}: {error.strerror}", ANOTHER) from None
        return checked(folder / by_time)
    for ending in ENDINGS:
        output = output.removesuffix(ending)
    stem = Path(output)
    if stem.name.startswith("-"):
        raise UsageError(f"{output}: a name cannot begin with -", "Choose another name with -o.")
    return checked(stem)


def checked(stem: Path) -> Path:
    """``stem`` itself. Raises OutputError, before recording, if no file can be made there."""
    if not stem.name or not stem.parent.is_dir():
        raise OutputError(f"{stem}: its folder does not exist", ANOTHER)
    try:
        with tempfile.TemporaryFile(dir=stem.parent):
            return stem
    except OSError as error:
        raise OutputError(
            f"{stem}: its folder cannot be written ({error.strerror})", ANOTHER
        ) from None


def check_free(stem: Path, force: bool) -> None:
    """Raises UsageError if files of a run with this stem exist; removes them with ``force``.

    A link counts, wherever it leads: it is removed itself, not what it leads to.
    """
    for ending in ENDINGS:
        path = stem.with_name(stem.name + ending)
        if not os.path.lexists(path):
            continue
        if not force:
            raise UsageError(f"{path} exists", "Choose another name with -o, or use --force.")
        try:
            path.unlink()
        except OSError as error:
            raise OutputError(f"{path}: {error.strerror}", ANOTHER) from error
