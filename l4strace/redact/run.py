"""The files of one run -> their redacted copies in a folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from l4strace.core import _native
from l4strace.errors import InputError, reason
from l4strace.ingest import file_names, files, host_file, untrusted
from l4strace.ingest.logs import bpftrace as read_bpftrace
from l4strace.ingest.logs import flent as read_flent
from l4strace.ingest.logs import kernel_log as read_kernel_log
from l4strace.ingest.logs import open_log, sniff, trace_events
from l4strace.ingest.logs import printed as read_printed
from l4strace.ingest.logs import qlog as read_qlog
from l4strace.ingest.logs import scream as read_scream
from l4strace.ingest.logs import ss as read_ss
from l4strace.ingest.logs import tc as read_tc
from l4strace.ingest.logs import udp_prague as read_udp_prague
from l4strace.redact import bpftrace, flent, host, kernel_log, printed, qlog, senders, ss, tc, trace
from l4strace.redact.mask import Mask
from l4strace.redact.output import Folder

Progress = Callable[[int, int], object]
Pieces = Iterator[bytes]
Lines = Callable[[Iterable[bytes], Mask], Pieces]

BLOCK = 1 << 20
BY_LINE: dict[Callable[[str], Any], Lines] = {
    read_kernel_log.read: kernel_log.redacted,
    read_bpftrace.read: bpftrace.redacted,
    read_ss.read: ss.redacted,
    read_tc.read: tc.redacted,
    trace_events.read: trace.redacted,
    read_printed.read_bpftrace: printed.bpftrace,
    read_printed.read_tcpprobe: printed.tcpprobe,
    read_printed.read_siftr: printed.siftr,
    read_udp_prague.read: senders.udp_prague,
    read_udp_prague.read_json: senders.udp_prague_json,
    read_scream.read: senders.scream,
    read_scream.read_transmitted: senders.scream,
}
"""Importer of a dialect -> what redacts its lines."""


@dataclass(frozen=True)
class Copy:
    """What became of one input."""

    path: str
    name: str
    left_out: str = ""
    """Why there is no copy; empty when there is one."""
    emptied: int = 0
    """Packets of unknown link types, of which times and lengths alone are left."""
    beside: bool = False
    """Nobody named it: it lies beside an input."""


def redact(
    paths: Sequence[str], folder: Folder, mask: Mask, companions: bool = True,
    progress: Progress | None = None,
) -> list[Copy]:  # fmt: skip
    """Writes a copy of each input, and of what lies beside it, under the same name.

    An input that cannot be redacted has no copy; the result has why. Raises InputError for a
    path that cannot be opened, UsageError when a copy exists, OutputError when none can be written.
    """
    inputs = files.of_run(paths, companions)
    logs = [*inputs.logs, *inputs.logs_beside]
    work: list[tuple[str, Callable[[str], Pieces]]] = [
        *((path, lambda p: _capture(p, mask)) for path in inputs.captures),
        *((path, lambda p: _log(p, mask)) for path in logs),
        *((path, lambda p: _host(p, mask)) for path in (*inputs.hosts, *inputs.hosts_beside)),
        *((path, _clock) for path in _clocks(logs if companions else [])),
    ]
    folder.check([copy_name(path) for path, _ in work])
    unnamed = {*inputs.logs_beside, *inputs.hosts_beside}
    done = []
    for path, make in work:
        done.append(_copied(path, make, folder, path in unnamed))
        if progress is not None:
            progress(len(done), len(work))
    opens = "keys open what a capture holds; a copy has no payload that they open"
    # Companions too: who shares the folder of the originals is to know.
    done += [
        Copy(path, copy_name(path), left_out=opens, beside=path in inputs.keys_beside)
        for path in (*inputs.keys, *inputs.keys_beside)
    ]
    page = "a page of l4strace: make one from the copies"
    rates = "results of iperf3 name hosts, and no rule reads them"
    done += [Copy(path, copy_name(path), left_out=rates) for path in inputs.results]
    return done + [Copy(path, copy_name(path), left_out=page) for path in inputs.pages]


def copy_name(path: str) -> str:
    """Name of the copy of an input; standard input is a capture."""
    return "stdin.pcap" if path == "-" else PurePath(path).name


def _copied(path: str, make: Callable[[str], Pieces], folder: Folder, beside: bool) -> Copy:
    name = copy_name(path)
    try:
        pieces = make(path)
        # The first piece shows whether it can be read: no file is made for what cannot.
        first = next(iter(pieces), b"")
        with folder.new(name) as file:
            file.write(first)
            file.writelines(pieces)
    except InputError as error:
        return Copy(path, name, left_out=str(error).removeprefix(f"{path}: "), beside=beside)
    emptied = pieces.counts[1] if isinstance(pieces, _native.RedactedCapture) else 0
    return Copy(path, name, emptied=emptied, beside=beside)


def _capture(path: str, mask: Mask) -> Pieces:
    return _native.RedactedCapture(file_names.opened(path), mask.key)


def _log(path: str, mask: Mask) -> Pieces:
    importer = sniff.reader(path, files.head(path))
    if importer is read_flent.read:
        yield from _document(path, mask, flent.redacted, read_flent.MOST_BYTES)
        return
    if importer is read_qlog.read:
        yield from _chunks(path, mask)
        return
    if importer not in BY_LINE:
        raise InputError(f"{path}: a log of a kind that redact does not know")
    lines = untrusted.lines(path, BLOCK)
    packer = _native.Packer(lines.compression)
    for block in BY_LINE[importer](_checked(path, map(bytes, lines), importer), mask):
        yield packer.add(block)
    # Lines that are too long for a reader become lines that it cannot read.
    yield packer.add(b"-\n" * lines.long)
    # The copy of a log that breaks off breaks off.
    yield packer.finish(cut=lines.error is not None)


def _chunks(path: str, mask: Mask) -> Pieces:
    """The copy of a qlog, whose lines may be as long as the file."""
    chunks = _native.read_text(file_names.opened(path))
    packer = _native.Packer(chunks.compression)
    for block in qlog.redacted(chunks, mask):
        yield packer.add(block)
    yield packer.finish(cut=chunks.error is not None)


def _checked(path: str, lines: Iterable[bytes], importer: Callable[[str], Any]) -> Pieces:
    """``lines``, unless their first shows that the importer would refuse them."""
    blocks = iter(lines)
    first = next(blocks, b"")
    if importer is read_kernel_log.read:
        header = untrusted.record(first.partition(b"\n")[0]) or {}
        if header.get("version") != 1:
            raise InputError(f"{path}: a kernel log of an unknown version")
    yield first
    yield from blocks


def _host(path: str, mask: Mask) -> Pieces:
    copy = host.redacted(host_file.read(path), mask)
    yield from _packed(json.dumps(copy, indent=1).encode() + b"\n", path)


def _document(
    path: str, mask: Mask, make: Callable[[dict[str, Any], Mask], dict[str, Any]], most: int
) -> Pieces:
    try:
        copy = make(untrusted.document(path, most), mask)
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: {reason(error)}") from error
    yield from _packed(json.dumps(copy).encode(), path)


def _packed(text: bytes, path: str) -> Pieces:
    packer = _native.Packer(_native.read_text(file_names.opened(path)).compression)
    yield packer.add(text)
    yield packer.finish()


def _clocks(logs: Iterable[str]) -> list[str]:
    """Files beside logs that state the offset of their clock."""
    found = (path for log in logs for path in open_log.clock_files(log))
    return list(dict.fromkeys(str(path) for path in found if path.is_file()))


def _clock(path: str) -> Pieces:
    clock = open_log.stated_clock(Path(path))
    if clock is None:
        raise InputError(f"{path}: states no clock")
    offset, uncertainty = clock
    text = f"realtime_minus_monotonic_ns {offset} uncertainty_ns {uncertainty}\n"
    yield text.encode()
