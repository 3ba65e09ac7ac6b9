"""The `packets` table as a stream."""

from pathlib import Path

import polars as pl

from l4strace.ingest import load, packets
from l4strace.ingest.selection import Selection, in_time
from l4strace.schema import TABLES
from tests.support.files import pcap, timed_pcap
from tests.support.places import FIXTURES
from tests.support.wrappings import FRAME


def test_the_stream_is_the_declared_table_and_has_tracks_numbers(tmp_path: Path) -> None:
    path = tmp_path / "run.pcap"
    other = FRAME[:34] + b"\x12\x34" + FRAME[36:]
    path.write_bytes(pcap([FRAME, other, FRAME]))
    capture = load.load([str(path)])
    table = pl.concat(packets.batches(capture))
    assert table.schema == TABLES["packets"].schema
    assert table["flow"].to_list() == [0, 1, 0]
    assert table.equals(pl.concat(packets.of_one_capture(str(path))))


def test_some_columns_are_those_of_the_whole_table(tmp_path: Path) -> None:
    path = tmp_path / "run.pcap"
    path.write_bytes(pcap([FRAME] * 3))
    capture = load.load([str(path)])
    whole = pl.concat(packets.batches(capture))
    some = pl.concat(packets.batches(capture, columns=("sack", "ts_ns", "flow", "forward")))
    assert some.columns == ["ts_ns", "flow", "forward", "sack"]
    assert some.equals(whole.select(some.columns))


def test_numbers_are_those_of_the_whole_run(tmp_path: Path) -> None:
    other = FRAME[:34] + b"\x12\x34" + FRAME[36:]
    first, second = tmp_path / "a.pcap", tmp_path / "b.pcap"
    first.write_bytes(pcap([FRAME, other]))
    second.write_bytes(pcap([other, FRAME]))
    capture = load.load([str(first), str(second)])
    table = pl.concat(packets.batches(capture)).sort("source", "frame")
    flows = capture.flows.select("source", "flow", "client_port")
    assert table["flow"].to_list() == [0, 1, 1, 0]
    assert flows.filter(flow=1)["client_port"].unique().to_list() == [0x1234]


def test_a_lazy_frame_reads_only_what_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "run.pcap"
    path.write_bytes(pcap([FRAME] * 10))
    lazy = packets.scan(lambda: packets.of_one_capture(str(path)))
    assert lazy.filter(pl.col("frame") > 4).select("frame").head(2).collect()[
        "frame"
    ].to_list() == [5, 6]
    lazy.drop("sack").sink_csv(tmp_path / "out.csv")
    assert pl.read_csv(tmp_path / "out.csv").height == 10


def test_a_part_of_the_time_is_followed_from_the_beginning() -> None:
    """Window scale and sequence numbers are those of the whole run, whatever the page shows."""
    capture = load.load([str(FIXTURES / "accecn-clean/sender.pcap.xz")])
    whole = pl.concat(packets.batches(capture))
    chosen = Selection.of(from_s=1.0)
    cut = pl.concat(packets.batches(in_time(capture, chosen)))
    assert cut.equals(whole)


def test_packets_behind_later_ones_are_found(tmp_path: Path) -> None:
    """Sections and interfaces have clocks of their own, and clocks are set."""
    path = tmp_path / "run.pcap"
    later = [(10**18 + 10**9 + number, FRAME) for number in range(40_000)]
    path.write_bytes(timed_pcap([*later, *((10**18 + number, FRAME) for number in range(10))]))
    early = packets.Stretch(span_ns=(10**18, 10**18 + 9))
    capture = load.load([str(path)])
    assert sum(frame.height for frame in packets.batches(capture, stretch=early)) == 10


def test_reading_ends_behind_a_frame_where_the_time_is_over(tmp_path: Path) -> None:
    path = tmp_path / "run.pcap"
    path.write_bytes(timed_pcap([(10**18 + number, FRAME) for number in range(100_000)]))
    capture = load.load([str(path)])

    def batches(ends_behind: int | None) -> list[int]:
        wanted = packets.Stretch(None, (10**18, 10**18 + 9), ends_behind)
        return [frame.height for frame in packets.batches(capture, stretch=wanted)]

    assert batches(None) == [10, 0, 0, 0]
    assert batches(10) == [10]
    assert batches(40_000) == [10, 0]


def test_each_stretch_has_its_flows_in_its_time() -> None:
    """Flows are followed from the beginning, and not beyond the end of their own stretch."""
    capture = load.load([str(FIXTURES / "misfire/misfire.pcap.xz")])
    whole = pl.concat(packets.batches(capture))
    start, end = (whole["ts_ns"][0] + s * 1_000_000_000 for s in (1, 2))
    early = packets.Stretch(frozenset({1}), (start, end), ends_behind=1)
    late = packets.Stretch(frozenset({3}), (end, end + 10**9), ends_behind=1)
    frames = list(packets.of_source(capture, 0, stretches=[early, late]))
    during = pl.col("ts_ns").is_between
    inside = (during(*early.span_ns) & (pl.col("flow") == 1)) | (
        during(*late.span_ns) & (pl.col("flow") == 3)
    )
    assert pl.concat(frames).equals(whole.filter(inside))
    assert pl.concat(frames)["flow"].unique().sort().to_list() == [1, 3]
    assert len(frames) < whole.height // 32_768 + 1
