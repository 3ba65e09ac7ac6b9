"""Rules about feedback over UDP on recorded runs."""

import lzma
import struct
from pathlib import Path

import polars as pl

from l4strace import pipeline
from l4strace.model import Finding
from l4strace.rules import l4s119_marks_not_reported, l4s214_waits_for_feedback


def without_ecn(capture: bytes) -> bytes:
    """SCReAM's run with reports whose ECN bits are 0: its receiver does not read the ToS byte."""
    data, at = bytearray(capture), 24
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        payload = at + 16 + 28
        if data[at + 16 + 9] == 17 and data[payload + 1] == 205:
            for report in range(payload + 16, at + 16 + length - 1, 2):
                data[report] &= 0x9F
        at += 16 + length
    return bytes(data)


def test_a_real_receiver_is_silent_and_one_that_reads_no_ecn_fires(
    shared_data: Path, tmp_path: Path
) -> None:
    recorded = shared_data / "user-space" / "sc1" / "b.pcap.xz"
    (blind := tmp_path / "b.pcap").write_bytes(without_ecn(lzma.decompress(recorded.read_bytes())))
    found = {}
    for path in (recorded, blind):
        derived = pipeline.derive(pipeline.read([str(path)]))
        (row,) = derived.directions.filter(pl.col("reported_packets") > 0).to_dicts()
        assert (row["ce"], row["reported_packets"]) == (872, 11_640)
        found[path] = l4s119_marks_not_reported.check(derived)
    assert found[recorded] == []
    (fired,) = found[blind]
    assert isinstance(fired, Finding)
    assert "872 packets arrived with CE" in fired.message


def test_blocks_fire_and_single_acknowledgements_are_silent(shared_data: Path) -> None:
    for run, expected in (("up8888", 1), ("up1", 0), ("sc1", 0), ("mixreno", 0)):
        folder = shared_data / "user-space" / run
        ends = [str(folder / f"{end}.pcap.xz") for end in "ab"]
        found = l4s214_waits_for_feedback.check(
            pipeline.derive(pipeline.read(ends, companions=False))
        )
        assert len(found) == expected, run
        one = [str(folder / "a.pcap.xz")]
        assert (
            len(
                l4s214_waits_for_feedback.check(
                    pipeline.derive(pipeline.read(one, companions=False))
                )
            )
            == expected
        )
