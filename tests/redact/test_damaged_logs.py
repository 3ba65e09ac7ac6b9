"""Copies of damaged logs: the samples that the log has, with their numbers, and as much lost."""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from l4strace.ingest.logs import bpftrace, kernel_log, sniff
from l4strace.ingest.logs.samples import Log
from l4strace.redact.mask import Mask
from l4strace.redact.output import Folder
from l4strace.redact.run import redact

Reader = Callable[[str], Log]
HEAD = '{"type": "attached_probes", "data": {"probes": 3}}'
DEEP = "[" * 90 + "1" + "]" * 90


def printed(text: object) -> str:
    return json.dumps({"type": "printf", "data": text})


def sample(number: int, event: str = "ack") -> str:
    return printed(
        f"nsecs={10**9 + number} event={event} sport=40001 dport=5201 snd_cwnd={number}\n"
    )


def logs(
    lines: list[str], folder: Path, name: str = "run.bpftrace.json", read: Reader = bpftrace.read
) -> tuple[Log, Log]:
    """What the reader makes of a log, and of its copy."""
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    redact([str(path)], Folder(str(folder / "copies")), Mask(bytes(range(32))))
    return read(str(path)), read(str(folder / "copies" / path.name))


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param(f'{{"type": "printf", "data": {DEEP}}}', id="nested too deeply"),
        pytest.param(f'{{"type": "map", "data": {DEEP}}}', id="map nested too deeply"),
        pytest.param(f'{{"type": 5, "data": {DEEP}}}', id="of no kind"),
        pytest.param(printed(4611686018427387904), id="a number for a text"),
        pytest.param(printed(None), id="no text"),
        pytest.param('{"type": "lost_events", "data": {"events": 3}}', id="lost events"),
        pytest.param('{"type": "printf", "da', id="cut"),
    ],
)
def test_a_damaged_line_costs_a_copy_what_it_costs_the_log(odd: str, tmp_path: Path) -> None:
    log, copy = logs([HEAD, sample(1), odd, sample(2, "loss"), sample(3)], tmp_path)
    columns = [pl.col("ts_ns"), pl.col("event"), pl.col("snd_cwnd")]
    assert copy.samples.select(columns).equals(log.samples.select(columns))
    assert copy.stats == log.stats
    assert log.samples["snd_cwnd"][0] == 1


def test_a_damaged_first_line_still_names_the_dialect(tmp_path: Path) -> None:
    log, copy = logs([HEAD + "\\" + sample(1), sample(2)], tmp_path)
    assert log.kind == copy.kind == "bpftrace"
    assert copy.stats == log.stats
    path = tmp_path / "copies" / "run.bpftrace.json"
    assert sniff.reader(str(path), path.read_bytes()) is bpftrace.read


@pytest.mark.parametrize("kind", ["aggregate", "note", "later kind"])
def test_so_does_one_of_a_kernel_log(kind: str, tmp_path: Path) -> None:
    header = {
        "type": "header", "format": "l4strace-kernel-log", "version": 1,
        "fields": {"ts_ns": "i64", "event": "str", "snd_cwnd": "u32"},
    }  # fmt: skip
    samples = [
        json.dumps({"type": "sample", "ts_ns": n, "event": "ack", "snd_cwnd": n}) for n in (1, 2)
    ]
    odd = f'{{"type": "{kind}", "value": {DEEP}}}'
    lines = [json.dumps(header), samples[0], odd, samples[1]]
    log, copy = logs(lines, tmp_path, "run.kernel.ndjson", kernel_log.read)
    assert copy.samples.equals(log.samples)
    assert copy.samples["snd_cwnd"].to_list() == [1, 2]
    assert copy.stats == log.stats
