"""What the user wants recorded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from l4strace.errors import UsageError

ENDINGS = (
    ".pcapng",
    ".kernel.ndjson",
    ".kernel.ndjson.zst",
    ".kernel.ndjson.gz",
    ".host.json",
)
"""What a run consists of: STEM and one of these."""


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

    def options(self, interfaces: tuple[str, ...] = ()) -> list[str]:
        """Options of the collector `record`, without output and command."""
        options = ["--kernel", self.kernel, "--snaplen", str(self.snaplen)]
        options += ["--filter", self.filter_text, "--backend", self.backend]
        options += ["--interval", str(self.interval_ms)]
        for name in interfaces or self.interfaces:
            options += ["-i", name]
        if self.duration_s is not None:
            options += ["--duration", str(self.duration_s)]
        if self.ring_mb is not None:
            options += ["--ring", str(self.ring_mb)]
        return options


def stem_of(output: str) -> Path:
    """The stem that `-o` means: endings of a run are taken off; by default one with the time.

    Raises UsageError when its folder is missing.
    """
    if not output:
        return Path(f"l4strace-{datetime.now():%Y%m%d-%H%M%S}")
    for ending in ENDINGS:
        output = output.removesuffix(ending)
    stem = Path(output)
    if not stem.name or not stem.parent.is_dir():
        raise UsageError(f"{output}: its folder does not exist", "Name another with -o.")
    return stem


def check_free(stem: Path, force: bool) -> None:
    """Raises UsageError if files of a run with this stem exist; removes them with ``force``."""
    for ending in ENDINGS:
        path = stem.with_name(stem.name + ending)
        if not path.exists():
            continue
        if not force:
            raise UsageError(f"{path}: exists", "Name another with -o, or say --force.")
        path.unlink()
