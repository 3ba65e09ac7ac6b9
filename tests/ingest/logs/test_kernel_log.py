"""The own format: lenient reader, strict validator."""

from __future__ import annotations

import gzip
import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from l4strace.ingest.join import attach
from l4strace.ingest.logs import kernel_log
from l4strace.ingest.logs.thin import Keeper
from tests.support import frames

HEADER: dict[str, Any] = {
    "type": "header",
    "format": "l4strace-kernel-log",
    "version": 1,
    "collector": "test 1",
    "kernel": "5.15.72",
    "command": ["collect", "--port", "5201"],
    "clock": {"id": "monotonic", "unix_offset_ns": 1000, "uncertainty_ns": 5},
    "layout": {"name": "P4", "found": "btf", "alpha_bits": 24},
    "fields": {
        "ts_ns": "i64",
        "event": "str",
        "sk": "str",
        "saddr": "str",
        "sport": "u16",
        "daddr": "str",
        "dport": "u16",
        "upscaled_alpha": "u64",
        "classic_ecn_raw": "i64",
        "mdev_pace_raw": "u64",
        "g_mdev_shift": "u8",
        "gso_segs": "u32",
    },
}
SAMPLE: dict[str, Any] = {
    "type": "sample",
    "ts_ns": 5,
    "event": "detect",
    "sk": "0x1",
    "saddr": "10.0.0.1",
    "sport": 40001,
    "daddr": "10.0.0.2",
    "dport": 5201,
    "upscaled_alpha": 16 << 24,
    "classic_ecn_raw": 17 << 24,
    "mdev_pace_raw": 43 << 6,
    "g_mdev_shift": 6,
    "gso_segs": 3,
}
TRAILER: dict[str, Any] = {
    "type": "trailer",
    "ts_ns": 9,
    "events": {"detect": 1},
    "lost": {"ring": 7},
    "clock": {"unix_offset_ns": 1003, "uncertainty_ns": 5},
}
AGGREGATE = {"type": "aggregate", "name": "@c_sticky", "value": 485}


def write(folder: Path, *records: dict[str, Any] | str) -> str:
    path = folder / "run.kernel.ndjson"
    lines = [r if isinstance(r, str) else json.dumps(r) for r in records]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_samples_take_the_columns_of_the_table(tmp_path: Path) -> None:
    capture = attach.load_logs(
        frames.capture(), [write(tmp_path, HEADER, SAMPLE, AGGREGATE, TRAILER)]
    )
    row = capture.kernel.row(0, named=True)
    assert (row["ts_ns"], row["flow"], row["forward"]) == (1005, 0, True)
    assert (row["alpha"], row["classic_ecn"], row["mdev_pace_us"]) == (1.0, 17.0, 43.0)
    assert row["extra"] == '{"gso_segs":3}'
    assert capture.aggregates == {"@c_sticky": 485}
    source = capture.sources.row(0, named=True)
    assert (source["kind"], source["complete"], source["records"]) == ("kernel-log", True, 1)
    assert source["comment"] == "collect --port 5201"
    assert capture.stats.select("name", "count").rows() == [("ring_lost", 7)]


def test_a_field_may_come_late_or_go(tmp_path: Path) -> None:
    """Samples go to their columns some hundred at a time: a field of one part is null in others."""
    late = range(600, 700)
    samples = [SAMPLE | {"ts_ns": n, **({"snd_cwnd": n} if n in late else {})} for n in range(2000)]
    header = HEADER | {"fields": HEADER["fields"] | {"snd_cwnd": "u32"}}
    read = kernel_log.read(write(tmp_path, header, *samples, TRAILER)).samples
    assert read["snd_cwnd"].to_list() == [n if n in late else None for n in range(2000)]
    assert read["ts_ns"].to_list() == list(range(2000))


def test_records_that_are_thinned_before_they_are_rows_are_those_that_rows_would_lose(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sockets, some events of each, changes now and then, and lines of other kinds between."""
    draw = random.Random(7)
    events = ("ack", "probe", "detect", "cwr")
    shown: dict[str, Any] = {"sk": "0x1", "ca_state": 0, "cc": "dctcp", "alpha": 0.5}
    records: list[dict[str, Any] | str] = []
    for n in range(12_000):
        shown[draw.choice(["sk", "none", "none"])] = draw.choice(["0x1", "0x2"])
        if draw.random() < 0.02:
            shown |= {"ca_state": draw.randrange(5), "cc": draw.choice(["dctcp", "prague"])}
            shown |= {"alpha": draw.choice([0.0, 0.25, None])}
        records.append(SAMPLE | shown | {"ts_ns": n * 200_000, "event": draw.choice(events)})
        if draw.random() < 0.01:
            records.append(draw.choice([AGGREGATE, {"type": "note", "text": f"{n}"}, "{"]))
    header = HEADER | {"fields": HEADER["fields"] | {"alpha": "f64", "ca_state": "u8", "cc": "str"}}
    path = write(tmp_path, header, *records, TRAILER)
    monkeypatch.setattr(kernel_log, "Keeper", partial(Keeper, limit=1000))
    monkeypatch.setattr(kernel_log, "BLOCK_BYTES", 1 << 18)
    asked = []
    early = Keeper.early
    monkeypatch.setattr(Keeper, "early", lambda *args: asked.append(early(*args)) or asked[-1])
    before = kernel_log.read(path)
    assert len([thinning for thinning in asked if thinning]) > 5
    monkeypatch.setattr(Keeper, "early", lambda *_: None)
    rows = kernel_log.read(path)
    assert_frame_equal(before.samples, rows.samples)
    assert (before.stats, before.records, before.aggregates) == (
        rows.stats,
        rows.records,
        rows.aggregates,
    )
    assert 1000 < before.samples.height < 9000
    assert before.records == 12_000


@pytest.mark.parametrize("names", [("sport",), ("sport", "dport"), ("sk", "sport")])
@pytest.mark.parametrize("before", [True, False])
def test_sockets_that_have_ports_alone_are_thinned_each_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...], before: bool
) -> None:
    sockets = [dict.fromkeys(names, n) | {"sk": "0x1"} for n in (40001, 40002)]
    told = [{name: socket[name] for name in names} for socket in sockets]
    plain = {"type": "sample", "event": "ack", "snd_cwnd": 10}
    # Both in turns, so that the same one always has the first sample of a tick.
    samples = [plain | told[n % 2] | {"ts_ns": n * 100_000} for n in range(20_000)]
    header = HEADER | {"fields": {"ts_ns": "i64", "event": "str", "snd_cwnd": "u32"}}
    trailer = TRAILER | {"events": {"ack": 20_000}}
    monkeypatch.setattr(kernel_log, "Keeper", partial(Keeper, limit=100))
    monkeypatch.setattr(kernel_log, "BLOCK_BYTES", 1 << 18)
    if not before:
        monkeypatch.setattr(Keeper, "early", lambda *_: None)
    log = kernel_log.read(write(tmp_path, header, *samples, trailer))
    kept = log.samples.group_by("sport").len()["len"].to_list()
    assert len(kept) == 2
    assert all(190 < samples < 260 for samples in kept)


def test_many_notes_hide_no_aggregate_and_the_last_trailer_counts(tmp_path: Path) -> None:
    notes = [{"type": "note", "ts_ns": n, "text": f"{n}"} for n in range(30_000)]
    trailers = [TRAILER | {"lost": {"ring": n}, "events": {"detect": n}} for n in (5, 6, 1)]
    log = kernel_log.read(write(tmp_path, HEADER, SAMPLE, *notes, AGGREGATE, *trailers))
    assert log.aggregates == {"@c_sticky": 485}
    names = [name for name, *_ in log.stats]
    assert (names.count("note"), names.count("ring_lost"), names.count("samples_missing")) == (
        kernel_log.MOST_NOTES,
        1,
        0,
    )


def test_a_collector_that_was_killed_has_noted_what_it_lost(tmp_path: Path) -> None:
    lost = [{"type": "lost", "ts_ns": 7, "where": "ring", "count": n} for n in (100, 17)]
    log = kernel_log.read(write(tmp_path, HEADER, SAMPLE, *lost))
    assert [(name, count) for name, count, *_ in log.stats] == [
        ("ring_lost", 117),
        ("no_trailer", 1),
    ]
    log = kernel_log.read(write(tmp_path, HEADER, SAMPLE, *lost, TRAILER))
    assert [(name, count) for name, count, *_ in log.stats] == [("ring_lost", 7)]


def test_a_declared_field_may_have_any_name(tmp_path: Path) -> None:
    names = {"count": "str", "name": "str", "text": "u32"}
    sample = SAMPLE | {"count": "many", "name": "x", "text": 5}
    header = HEADER | {"fields": HEADER["fields"] | names}
    log = kernel_log.read(write(tmp_path, header, sample, SAMPLE, AGGREGATE, TRAILER))
    extra = {"gso_segs": 3, "count": "many", "name": "x", "text": 5}
    assert json.loads(log.samples["extra"][0]) == extra
    assert log.aggregates == {"@c_sticky": 485}


def test_samples_without_other_fields_have_no_object_of_nulls(tmp_path: Path) -> None:
    bare = {name: value for name, value in SAMPLE.items() if name != "gso_segs"}
    log = kernel_log.read(write(tmp_path, HEADER, bare, SAMPLE, bare, SAMPLE | {"gso_segs": 4}))
    assert log.samples["extra"].to_list() == [None, '{"gso_segs":3}', None, '{"gso_segs":4}']


def test_samples_without_a_time_are_told(tmp_path: Path) -> None:
    timeless = {name: value for name, value in SAMPLE.items() if name != "ts_ns"}
    trailer = TRAILER | {"events": {"detect": 2}, "lost": {}}
    log = kernel_log.read(write(tmp_path, HEADER, SAMPLE, timeless, trailer))
    assert log.samples.height == 1
    assert [(name, count) for name, count, *_ in log.stats] == [("lines_unread", 1)]


def test_the_width_of_alpha_may_be_found_during_the_run(tmp_path: Path) -> None:
    header = HEADER | {"layout": {"name": "P4", "alpha_bits": None}}
    trailer = TRAILER | {"layout": {"name": "P4", "alpha_bits": 24}}
    assert kernel_log.read(write(tmp_path, header, SAMPLE, trailer)).alpha_bits == 24


def test_compressed_logs_are_read(tmp_path: Path) -> None:
    plain = Path(write(tmp_path, HEADER, SAMPLE, TRAILER))
    packed = tmp_path / "run.kernel.ndjson.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert kernel_log.read(str(packed)).samples.height == 1


def test_a_compressed_log_that_breaks_off_is_told(tmp_path: Path) -> None:
    many = [SAMPLE | {"ts_ns": 7919 * n} for n in range(2000)]
    packed = gzip.compress(Path(write(tmp_path, HEADER, *many, TRAILER)).read_bytes())
    cut = tmp_path / "cut.kernel.ndjson.gz"
    cut.write_bytes(packed[: len(packed) // 2])
    log = kernel_log.read(str(cut))
    assert 0 < log.samples.height < 2000
    assert (log.complete, log.compression, log.bytes_read) == (False, "gz", len(packed) // 2)
    # The broken line was read before the file was known to break off.
    assert [name for name, *_ in log.stats] == ["lines_unread", "truncated_file"]


def test_a_cut_line_and_a_missing_trailer_are_told(tmp_path: Path) -> None:
    cut = json.dumps(SAMPLE)[:40]
    log = kernel_log.read(write(tmp_path, HEADER, SAMPLE, cut))
    assert log.samples.height == 1
    assert not log.complete
    assert {name for name, *_ in log.stats} == {"lines_unread", "no_trailer"}


@pytest.mark.parametrize("bad", ['"x": "\udcff"', f'"x": {"9" * 5000}'])
@pytest.mark.parametrize("record", [TRAILER, AGGREGATE, {"type": "note", "text": "a"}])
def test_a_record_that_python_cannot_read_is_a_line_that_is_lost(
    tmp_path: Path, record: dict[str, Any], bad: str
) -> None:
    """A trailer like that counted as one that had seen no sample."""
    path = Path(write(tmp_path, HEADER, SAMPLE))
    line = json.dumps(record).replace("{", f"{{{bad}, ", 1)
    path.write_bytes(path.read_bytes() + line.encode("utf-8", "surrogateescape") + b"\n")
    log = kernel_log.read(str(path))
    assert (log.samples.height, log.complete, log.notes) == (1, False, 0)
    assert not log.aggregates
    assert {name for name, *_ in log.stats} == {"lines_unread", "no_trailer"}


def test_two_records_that_run_into_each_other_are_one_line_that_is_lost(tmp_path: Path) -> None:
    """The second began where the reader expected another line's first field."""
    line = json.dumps(SAMPLE)
    log = kernel_log.read(write(tmp_path, HEADER, line, line, line[:-1] + line, TRAILER))
    assert log.samples.height == 2
    assert ("lines_unread", 1) in [(name, count) for name, count, *_ in log.stats]


def test_records_of_other_kinds_are_passed_over(tmp_path: Path) -> None:
    notes = [{"type": "note", "text": str(n)} for n in range(30_000)]
    log = kernel_log.read(write(tmp_path, HEADER, *notes, {"type": "x"}, SAMPLE, TRAILER))
    assert (log.records, log.notes, log.complete) == (1, kernel_log.MOST_NOTES, True)


def test_a_trailer_that_counts_more_is_told(tmp_path: Path) -> None:
    log = kernel_log.read(write(tmp_path, HEADER, SAMPLE, TRAILER | {"events": {"detect": 4}}))
    assert ("samples_missing", 3) in [(name, count) for name, count, *_ in log.stats]


def test_a_stepped_clock_is_not_joined(tmp_path: Path) -> None:
    stepped = TRAILER | {"clock": {"unix_offset_ns": 10**9, "uncertainty_ns": 5}}
    flows = frames.frame("flows", client="10.0.0.1", client_port=40001, server="10.0.0.2")
    capture = attach.load_logs(
        frames.capture(flows=flows), [write(tmp_path, HEADER, SAMPLE, stepped)]
    )
    assert {"clock_steps", "kernel_log_not_joined"} <= set(capture.stats["name"])
    assert capture.kernel["flow"].to_list() == [1]


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="version 2"):
        kernel_log.read(write(tmp_path, HEADER | {"version": 2}))


def test_a_good_log_has_no_faults(tmp_path: Path) -> None:
    assert kernel_log.check(write(tmp_path, HEADER, SAMPLE, AGGREGATE, TRAILER)) == []


@pytest.mark.parametrize(
    ("records", "fault"),
    [
        ([HEADER, SAMPLE], "line 2: no trailer"),
        ([HEADER, SAMPLE, "{", TRAILER], "line 3: no JSON"),
        ([SAMPLE, TRAILER], "line 1: the first line must be a header"),
        ([HEADER, SAMPLE | {"new": 1}, TRAILER], "line 2: field new is not declared"),
        ([HEADER, SAMPLE | {"sport": 70000}, TRAILER], "line 2: field sport: 70000 is no u16"),
        ([HEADER, SAMPLE | {"sk": True}, TRAILER], "line 2: field sk: True is no str"),
        ([HEADER, SAMPLE, SAMPLE, TRAILER], "line 4: trailer counts"),
        ([HEADER, SAMPLE | {"event": "x"}, TRAILER], "line 2: unknown event 'x'"),
        ([HEADER, SAMPLE, TRAILER, SAMPLE], "line 4: something after the trailer"),
        ([HEADER | {"clock": {"id": "tsc"}}, TRAILER], "line 1: unknown clock 'tsc'"),
        ([HEADER | {"fields": {"sport": "str"}}, TRAILER], "line 1: field sport: str is not"),
    ],
)
def test_faults_name_their_line(tmp_path: Path, records: list[Any], fault: str) -> None:
    faults = kernel_log.check(write(tmp_path, *records))
    assert any(said.startswith(fault) for said in faults), faults


def test_another_file_has_few_faults(tmp_path: Path) -> None:
    faults = kernel_log.check(write(tmp_path, *["{"] * 1000))
    assert (len(faults), faults[-1]) == (21, "more faults follow")


def test_the_validator_ends_with_a_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = write(tmp_path, HEADER, SAMPLE, AGGREGATE, TRAILER)
    assert kernel_log.main([good]) == 0
    assert capsys.readouterr() == ("", "")
    cut = write(tmp_path, HEADER, SAMPLE)
    assert kernel_log.main([cut]) == 1
    assert capsys.readouterr().out == f"{cut}: line 2: no trailer: the log was cut short\n"
    assert kernel_log.main([str(tmp_path / "absent")]) == 3
    assert capsys.readouterr().err == f"error: {tmp_path / 'absent'}: no such file\n"
    assert kernel_log.main([]) == 2
    assert "FILE..." in capsys.readouterr().err


def test_millions_of_samples_stay_bounded() -> None:
    from l4strace.ingest.logs.samples import SAMPLES, shaped
    from l4strace.ingest.logs.thin import Keeper

    keeper = Keeper(limit=20_000)
    for part in range(5):
        times = [(part * 10_000 + i) * 10_000 for i in range(10_000)]
        frame = pl.DataFrame({"ts_ns": times, "event": "ack", "sk": "0x1", "alpha_raw": part})
        keeper.add(shaped(frame))
    kept = keeper.finish()
    assert kept.schema == SAMPLES
    assert keeper.thinned + kept.height == 50_000
    assert kept.height < 1000
    assert kept["alpha_raw"].unique().sort().to_list() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("by_ns", "sentence"),
    [(90_000_000, "Set forwards by 90 ms."), (-90_000_000, "Set back by 90 ms.")],
)
def test_a_clock_that_was_set_names_its_direction(
    tmp_path: Path, by_ns: int, sentence: str
) -> None:
    trailer = TRAILER | {"clock": {"unix_offset_ns": 1000 + by_ns, "uncertainty_ns": 5}}
    capture = attach.load_logs(frames.capture(), [write(tmp_path, HEADER, SAMPLE, trailer)])
    assert capture.stats.filter(name="clock_steps")["detail"].to_list() == [sentence]


def test_the_validator_takes_every_event_of_the_format(tmp_path: Path) -> None:
    sample = SAMPLE | {"event": "retransmit"}
    trailer = TRAILER | {"events": {"retransmit": 1}}
    assert kernel_log.check(write(tmp_path, HEADER, sample, trailer)) == []
