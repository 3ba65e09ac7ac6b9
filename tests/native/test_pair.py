"""Two captures of the same flows: what left, what arrived, and on which clock."""

import lzma
import struct
from pathlib import Path

import polars as pl
import pytest

from l4strace.ingest import load
from tests.support.files import timed_pcap
from tests.support.wrappings import ethernet, outer_v4

MS = 1_000_000
CLIENT, SERVER = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])


def _segment(
    from_client: bool,
    seq: int,
    ack: int,
    size: int = 0,
    flags: int = 0x10,
    ecn: int = 1,
    ip_id: int = 0,
) -> bytes:
    ports = (40000, 443) if from_client else (443, 40000)
    tcp = struct.pack(">HHIIHHHH", *ports, seq, ack, 5 << 12 | flags, 500, 0, 0) + bytes(size)
    datagram = bytearray(outer_v4(6, tcp, ecn))
    datagram[4:6] = struct.pack(">H", ip_id)
    datagram[12:20] = CLIENT + SERVER if from_client else SERVER + CLIENT
    return ethernet(bytes(datagram))


def _write(path: Path, packets: list[tuple[int, bytes]]) -> str:
    """A capture with a stamp (ns) for every packet."""
    path.write_bytes(timed_pcap(packets))
    return str(path)


HANDSHAKE = [
    (True, _segment(True, 100, 0, flags=0x1C2)),
    (False, _segment(False, 900, 101, flags=0x52)),
    (True, _segment(True, 101, 901)),
]


def _conversation(count: int) -> list[tuple[bool, bytes]]:
    """A handshake, then data that is acknowledged one by one."""
    out = list(HANDSHAKE)
    for n in range(count):
        seq = 101 + 1000 * n
        out.append((True, _segment(True, seq, 901, 1000, ip_id=n + 1)))
        out.append((False, _segment(False, 901, seq + 1000)))
    return out


def _both(folder: Path, skew_ns: int, count: int = 50) -> list[str]:
    """The conversation near the client and near the server, whose clock is ``skew_ns`` ahead."""
    client, server, now = [], [], 10**18
    delay_ns = 5 * MS
    for from_client, frame in _conversation(count):
        near, far = (client, server) if from_client else (server, client)
        near.append((now + (0 if from_client else skew_ns), frame))
        far.append((now + delay_ns + (skew_ns if from_client else 0), frame))
        now += delay_ns + MS // 10
    return [_write(folder / "client.pcap", client), _write(folder / "server.pcap", server)]


@pytest.mark.parametrize("skew_ns", [0, 3_600 * 10**9, -77 * MS])
@pytest.mark.parametrize("swapped", [False, True])
def test_clocks_that_disagree_are_put_in_line(tmp_path: Path, skew_ns: int, swapped: bool) -> None:
    paths = _both(tmp_path, skew_ns)
    capture = load.load(paths[::-1] if swapped else paths)
    near = 1 if swapped else 0
    forward = capture.paths.row(by_predicate=pl.col("forward"), named=True)
    assert (forward["near"], forward["far"]) == (near, 1 - near)
    assert (forward["matched"], forward["lost"], forward["appeared"]) == (52, 0, 0)
    assert forward["clock_offset_ns"] == skew_ns
    assert forward["owd_min_ns"] == 5 * MS
    offset = capture.sources["clock_offset_ns"].to_list()
    assert offset == [0, skew_ns if swapped else -skew_ns]
    spread = capture.flows["first_ns"].max() - capture.flows["first_ns"].min()
    assert spread <= 5 * MS


def test_marks_losses_and_bleaching_are_counted_by_packet(tmp_path: Path) -> None:
    client, server = _both(tmp_path, 0)
    content = bytearray(Path(server).read_bytes())
    starts = [i for i in range(24, len(content)) if content[i : i + 8] == CLIENT + SERVER]
    # In the data packets near the server: mark the third, bleach the fourth, drop the fifth.
    data = starts[2:]
    content[data[2] - 11] |= 3
    content[data[3] - 11] &= 0xFC
    begin = data[4] - 12 - 14 - 16
    del content[begin : begin + 16 + 14 + 40 + 1000]
    Path(server).write_bytes(content)
    row = load.load([client, server]).paths.row(by_predicate=pl.col("forward"), named=True)
    assert (row["ect1_to_ce"], row["ect1_to_not_ect"], row["lost"]) == (1, 1, 1)
    assert row["matched"] == 51
    assert row["first_change_frame_near"] is not None


def test_super_packets_match_their_segments(tmp_path: Path) -> None:
    sender = [(10**18 + n, frame) for n, (_, frame) in enumerate(HANDSHAKE)]
    receiver = [(ns + MS, frame) for ns, frame in sender]
    for n in range(20):
        now = 10**18 + (n + 1) * 10 * MS
        sender.append((now, _segment(True, 101 + 10_000 * n, 901, 10_000)))
        for part in range(10):
            seq = 101 + 10_000 * n + 1000 * part
            receiver.append((now + MS, _segment(True, seq, 901, 1000)))
        ack = _segment(False, 901, 101 + 10_000 * (n + 1))
        receiver.append((now + MS + 10, ack))
        sender.append((now + 2 * MS, ack))
    paths = [_write(tmp_path / "a.pcap", sender), _write(tmp_path / "b.pcap", receiver)]
    row = load.load(paths).paths.row(by_predicate=pl.col("forward"), named=True)
    assert (row["matched"], row["lost"], row["appeared"]) == (202, 0, 0)


def test_captures_of_different_flows_have_no_paths(tmp_path: Path) -> None:
    one = _write(tmp_path / "a.pcap", [(10**18, _segment(True, 5, 0, flags=2))])
    other = bytearray(_segment(True, 5, 0, flags=2))
    other[34:36] = b"\x12\x34"
    two = _write(tmp_path / "b.pcap", [(10**18, bytes(other))])
    capture = load.load([one, two])
    assert capture.paths.is_empty()
    assert capture.flows["flow"].n_unique() == 2


def test_a_capture_cut_short_counts_no_loss_after_its_end(tmp_path: Path) -> None:
    client, server = _both(tmp_path, 0, count=400)
    content = Path(server).read_bytes()
    packed = tmp_path / "server.pcap.xz"
    packed.write_bytes(lzma.compress(content[: len(content) // 2]))
    row = load.load([client, str(packed)]).paths.row(by_predicate=pl.col("forward"), named=True)
    assert row["lost"] == 0
    assert 150 < row["matched"] < 250


@pytest.mark.parametrize(
    ("ids", "copies", "matched"), [(True, 1, 82), (False, 1, 82), (True, 0, 81)]
)
def test_a_loss_and_its_retransmission_give_no_delay(
    tmp_path: Path, ids: bool, copies: int, matched: int
) -> None:
    """Without timestamps both have one key; without a copy the sender's capture missed the second,
    which then came from nowhere."""
    sender = [(10**18 + n, frame) for n, (_, frame) in enumerate(HANDSHAKE)]
    receiver = [(ns + 5 * MS, frame) for ns, frame in sender]
    for n in range(80):
        now = 10**18 + (n + 1) * 10 * MS
        frame = _segment(True, 101 + 1000 * n, 901, 1000, ip_id=2 * n + 1 if ids else 0)
        sender.append((now, frame))
        if n == 20:
            now += 300 * MS
            frame = _segment(True, 101 + 1000 * n, 901, 1000, ip_id=142 if ids else 0)
            sender.extend([(now, frame)] * copies)
        receiver.append((now + 5 * MS, frame))
    paths = [_write(tmp_path / f"{n}.pcap", sorted(p)) for n, p in enumerate([sender, receiver])]
    capture = load.load(paths)
    row = capture.paths.row(by_predicate=pl.col("forward"), named=True)
    assert (row["matched"], row["lost"], row["appeared"]) == (matched, 1, 82 - matched)
    assert row["owd_max_us"] == pytest.approx(0, abs=1)
    assert capture.rounds["owd_max_us"].max() == pytest.approx(0, abs=1)
