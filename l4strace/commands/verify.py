"""`l4strace verify`: the decode of this program against Wireshark's."""

from __future__ import annotations

from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from l4strace import console
from l4strace.errors import UsageError
from l4strace.wording.quantities import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from l4strace.verify.wireshark import Disagreement

MAX_LINES = 40
"""Lines of disagreements; the rest is counted."""


def verify(
    path: Annotated[str, typer.Argument(metavar="FILE", help="Capture to compare.")],
    count: Annotated[
        int,
        typer.Option(
            "--count", "-n", metavar="N", min=1, max=100_000, help="Number of packets to compare."
        ),
    ] = 200,
) -> None:
    """Compare our decode with Wireshark's, field by field.

    tshark dissects a sample of the TCP packets in which SYNs and CE marks are overrepresented.
    Lists every field that differs, and then exits with 1. Needs tshark, and pyshark
    (pip install 'l4strace[wireshark]').

    \b
    Examples:
      l4strace verify run.pcapng
      l4strace verify run.pcapng.xz --count 5000
    """
    from l4strace.verify import wireshark

    if path == "-":
        raise UsageError("standard input cannot be read twice", "Name a file.")
    with console.Progress("reading") as progress:
        rows, total = _sample(path, count, progress)
    if not rows:
        console.emit("no TCP packet: nothing to compare")
        return
    found: list[Disagreement] = []
    with _plain(path) as readable, console.Progress("comparing") as progress:
        missing = set(rows)
        for number, packet in enumerate(wireshark.dissect(readable, rows)):
            frame = int(packet["frame.number"][0])
            missing.discard(frame)
            found += wireshark.compare(rows[frame], packet)
            progress(number, len(rows))
    console.emit("\n".join(_report(found, sorted(missing), len(rows), total)))
    if found or missing:
        raise typer.Exit(1)


def _sample(
    path: str, count: int, progress: console.Progress
) -> tuple[dict[int, dict[str, Any]], int]:
    """At most ``count`` rows of `packets` by frame, chosen reproducibly, and the total number."""
    import polars as pl

    from l4strace.ingest import packets

    kept: pl.DataFrame | None = None
    total = 0
    special = (pl.col("tcp_flags") & 2 != 0) | (pl.col("ip_ecn") == 3)
    draw = pl.col("frame").hash(seed=9768)
    for frame in packets.of_one_capture(path, progress):
        total += frame.height
        drawn = frame.with_columns(pl.when(special).then(draw // 16).otherwise(draw).alias("draw"))
        both = drawn if kept is None else pl.concat([kept, drawn])
        kept = both.bottom_k(count, by="draw")
    rows = [] if kept is None else kept.sort("frame").drop("draw").to_dicts()
    return {row["frame"]: row for row in rows}, total


@contextmanager
def _plain(path: str) -> Iterator[str]:
    """The capture as a file that tshark reads: it knows gz at most."""
    import tempfile

    from l4strace.core import _native

    chunks = _native.read_text(path)
    if chunks.compression in (None, "gz"):
        yield path
        return
    with tempfile.NamedTemporaryFile(suffix=".pcap") as plain:
        for chunk in chunks:
            plain.write(chunk)
        plain.flush()
        yield plain.name


def _report(
    found: Sequence[Disagreement], missing: Sequence[int], compared: int, total: int
) -> list[str]:
    from l4strace.verify.wireshark import EXPLAINED, READERS

    head = (
        f"{compared:,} of {total:,} TCP packets compared with Wireshark in {len(READERS)} fields: "
    )
    if not found and not missing:
        return [head + "all equal"]
    lines = [head + f"{count(len(found), 'disagreement')}"]
    lines += [f"  frame {frame}: Wireshark shows no such packet" for frame in missing[:MAX_LINES]]
    for d in found[:MAX_LINES]:
        lines.append(f"  frame {d.frame}  {d.column}: ours {d.ours}, Wireshark {d.wireshark}")
    if len(found) > MAX_LINES:
        counts = Counter(d.column for d in found)
        lines.append("  in all: " + ", ".join(f"{n} {name}" for name, n in counts.most_common()))
    columns = {d.column for d in found}
    lines += [f"  note: {text}" for column, text in EXPLAINED.items() if column in columns]
    return lines
