"""bpftrace -f json: printf lines and maps."""

import functools
import json
from pathlib import Path

import pytest

from l4strace.ingest.join import attach
from l4strace.ingest.logs import blocks, bpftrace
from tests.support import frames


def write(folder: Path, *records: tuple[str, object]) -> str:
    path = folder / "trace.json"
    lines = [json.dumps({"type": kind, "data": data}) for kind, data in records]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def test_printf_lines_are_samples(tmp_path: Path) -> None:
    text = (
        "nsecs=1500000000 probe=prague_update_alpha sk=0x1 sport=40001 dport=5201 srtt_us=80248\n"
    )
    path = write(tmp_path, ("attached_probes", {"probes": 1}), ("printf", text), ("printf", "hi\n"))
    capture = attach.load_logs(frames.capture(), [path])
    row = capture.kernel.row(0, named=True)
    assert (row["ts_ns"], row["event"], row["srtt_us"]) == (1500000000, "alpha", 10031.0)
    assert capture.sources["kind"].to_list() == ["bpftrace"]
    assert capture.stats["name"].to_list() == ["lines_unread"]


def test_a_broken_line_costs_itself_only(tmp_path: Path) -> None:
    path = Path(write(tmp_path, ("map", {"@a": 1}), ("map", {"@b": {"x": 2}})))
    path.write_text(path.read_text().replace("\n", "\n{broken\n", 1))
    log = bpftrace.read(str(path))
    assert log.aggregates == {"@a": 1, "@b": {"x": 2}}
    assert [name for name, *_ in log.stats] == ["lines_unread"]


def test_names_of_maps_may_hold_anything(tmp_path: Path) -> None:
    named = {'@a"b': {'k"': 1}}
    log = bpftrace.read(write(tmp_path, ("map", named), ("stats", 7), ("hist", {"@a": [1]})))
    assert log.aggregates == named | {"@a (hist)": [1]}
    assert [(name, count) for name, count, *_ in log.stats] == [("lines_unread", 1)]


def test_losses_count_events_not_notices(tmp_path: Path) -> None:
    path = write(tmp_path, ("lost_events", {"events": 67190}), ("lost_events", {"events": 10}))
    assert bpftrace.read(path).stats == [("events_lost", 67200, "loss", "bpftrace lost events.")]


def test_a_notice_without_a_sound_number_counts_one(tmp_path: Path) -> None:
    odd = (None, "x", 7, [], {}, *({"events": n} for n in (-3, 1.5, "9", True, None, 2**63)))
    path = write(tmp_path, *(("lost_events", data) for data in odd))
    assert [(name, n) for name, n, *_ in bpftrace.read(path).stats] == [("events_lost", len(odd))]


def test_a_record_may_count_before_its_data(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(
        '{"type": "attached_probes", "count": 1, "data": {"probes": 1}}\n'
        '{"type": "printf", "data": "nsecs=5 snd_cwnd=4\\n"}\n'
    )
    assert attach.load_logs(frames.capture(), [str(path)]).kernel["snd_cwnd"].to_list() == [4]


def test_losses_have_a_bound(tmp_path: Path) -> None:
    path = write(tmp_path, *[("lost_events", {"events": 2**63 - 1})] * 3)
    capture = attach.load_logs(frames.capture(), [path])
    assert capture.stats["count"].to_list() == [2**63 - 1]


def test_records_without_a_line_end_are_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of whatever block: 30,000 such records were one line, too long to be read."""
    monkeypatch.setattr(bpftrace, "blocks", functools.partial(blocks.blocks, size=4096))
    text = "nsecs={0} probe=prague_update_alpha sk=0x1 snd_cwnd={0}"
    path = write(tmp_path, *[("printf", text.format(i)) for i in range(30_000)])
    log = bpftrace.read(path)
    assert (log.records, log.stats) == (30_000, [])
    assert log.samples["ts_ns"].to_list() == log.samples["snd_cwnd"].to_list()
    assert log.samples["ts_ns"].to_list() == list(range(30_000))


@pytest.mark.parametrize(
    "printed",
    [
        ("nsecs=1 snd_cwnd=4", "nsecs=2 snd_cwnd=8"),
        ("nsecs=1 snd_cwnd=4 ", "nsecs=2 snd_cwnd=8 "),
        ("snd_cwnd=4 nsecs=1 ", "snd_cwnd=8 nsecs=2\n"),
        ("nsecs=1 snd_cwnd=4", "", "ts=2 snd_cwnd=8"),
        ("Tracing ...", "nsecs=1 snd_cwnd=4\n", "nsecs=2 snd_cwnd=8"),
        ("nsecs=1 ", "snd_cwnd=4\n", "nsecs=2 ", "snd_cwnd=", "8", "\n"),
        ("snd_cwnd=4 ", "nsecs=1\n", "snd_cwnd=8", " nsecs=2\n"),
        ("snd_cwnd=4 nsecs=1\nsnd_cwnd=8 ", "nsecs=2"),
    ],
)
@pytest.mark.parametrize("size", [64, 4096])
def test_a_line_is_what_can_be_read_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printed: tuple[str, ...], size: int
) -> None:
    monkeypatch.setattr(bpftrace, "blocks", functools.partial(blocks.blocks, size=size))
    samples = bpftrace.read(write(tmp_path, *[("printf", text) for text in printed])).samples
    assert samples.select("ts_ns", "snd_cwnd").rows() == [(1, 4), (2, 8)]
