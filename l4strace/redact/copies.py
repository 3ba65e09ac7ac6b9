"""`--anonymize`: redacted copies of the inputs, there for the time of the work."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path, PurePath

import polars as pl

from l4strace.errors import InputError
from l4strace.evidence import Capture
from l4strace.redact.mask import Mask
from l4strace.redact.output import Folder
from l4strace.redact.run import Copy, Progress, redact
from l4strace.schema import TABLES
from l4strace.schema.words import Stat

NO_PAYLOAD = (
    "redacted: without payload QUIC, RTP and UDP Prague show as UDP, and their feedback is not read"
)


@contextmanager
def of(
    paths: Sequence[str], mask: Mask, companions: bool = True, progress: Progress | None = None
) -> Iterator[tuple[dict[str, str], list[Copy]]]:
    """The copies in the order of ``paths``, each with its original; and what could not be copied.

    Inputs of one folder stay together, so that each finds what lies beside it. Raises InputError
    for an input that cannot be redacted.
    """
    with tempfile.TemporaryDirectory(prefix="l4strace-") as place:
        copied: dict[str, str] = {}
        left_out: list[Copy] = []
        folders = {path: Path(path).parent for path in paths}
        for number, folder in enumerate(dict.fromkeys(folders.values())):
            here = [path for path in paths if folders[path] == folder]
            target = Path(place) / str(number)
            for copy in redact(here, Folder(str(target)), mask, companions, progress):
                if copy.left_out:
                    left_out.append(copy)
                else:
                    copied[str(target / copy.name)] = copy.path
        for copy in left_out:
            if not copy.beside:
                raise InputError(f"{copy.path}: cannot be anonymized: {copy.left_out}")
        yield copied, left_out


def as_shown(capture: Capture) -> Capture:
    """``capture`` with file names for paths, and a note where UDP has no payload left."""
    plain = capture.udp_flows.filter(transport="udp").select("source").unique().sort("source")
    notes = plain.with_columns(
        name=pl.lit(Stat.NOTE), count=1, severity=pl.lit("info"), detail=pl.lit(NO_PAYLOAD)
    )
    return replace(
        capture,
        stats=pl.concat([capture.stats, TABLES["stats"].conform(notes)]),
        sources=capture.sources.with_columns(pl.col("path").str.replace(r"^.*/", "")),
        host_files=tuple(
            host | {"path": PurePath(host["path"]).name} for host in capture.host_files
        ),
    )
