"""Small files that would keep a careless reader busy for minutes: cost stays in proportion."""

import gzip
import random
import struct
import time
from pathlib import Path

import polars as pl

from l4strace.core import _native
from tests.support import files
from tests.support.wrappings import tcp_headers as frame

SECONDS = 5.0
"""Of cpu for one file: a hundred times what the largest of them needs here."""

SYN, ACK = 0x002, 0x010


def tracked(*paths: Path) -> dict[str, pl.DataFrame]:
    """The tables, within the time."""
    before = time.process_time()
    tables = _native.track([str(path) for path in paths])
    assert time.process_time() - before < SECONDS
    return {name: pl.DataFrame(table) for name, table in tables.items()}


def pcap(frames: list[bytes], payload: int = 0) -> bytes:
    out = [files.pcap([])]
    for number, data in enumerate(frames):
        at = divmod(1_700_000_000_000_000_000 + number * 100_000, 1_000_000_000)
        out += [struct.pack("<IIII", *at, len(data), len(data) + payload), data]
    return b"".join(out)


def zipped(path: Path, content: bytes) -> Path:
    path.write_bytes(gzip.compress(content))
    return path


def test_a_hundred_thousand_interfaces(tmp_path: Path) -> None:
    content = files.section() + b"".join(files.interface(n % 60_000) for n in range(100_000))
    tables = tracked(zipped(tmp_path / "interfaces.pcapng.gz", content))
    assert len(tables["sources"]["link_types"][0]) < 10_000


def test_drops_of_many_interfaces_are_still_counted(tmp_path: Path) -> None:
    blocks = [files.section()] + [files.interface() for _ in range(1000)]
    for number in range(1000):
        body = struct.pack("<III", number, 0, 0) + files.option(5, struct.pack("<Q", number))
        blocks += [files.block(5, body)] * 2
    path = tmp_path / "drops.pcapng"
    path.write_bytes(b"".join(blocks))
    stats = tracked(path)["stats"]
    assert stats.filter(pl.col("name") == "capture_drops")["count"][0] == 999 * 500


def test_megabytes_of_section_comments(tmp_path: Path) -> None:
    content = files.section(comment="x" * 60_000) * 2000
    tables = tracked(zipped(tmp_path / "comments.pcapng.gz", content))
    comment = tables["sources"]["comment"][0]
    assert comment.startswith("x" * 60_000)
    assert len(comment) < 1 << 20


def test_drops_near_the_end_of_the_counter_do_not_wrap(tmp_path: Path) -> None:
    most = struct.pack("<Q", 2**64 - 1)
    body = struct.pack("<III", 0, 0, 0) + files.option(5, most) + files.option(7, most)
    content = (files.section() + files.interface() + files.block(5, body)) * 3
    path = tmp_path / "drops.pcapng"
    path.write_bytes(content)
    stats = tracked(path)["stats"]
    assert stats.filter(pl.col("name") == "capture_drops")["count"][0] == 2**64 - 1


def test_a_flood_of_syns_on_the_same_ports_in_two_captures(tmp_path: Path) -> None:
    syns = pcap([frame(n % 50_000 * 7, 0, SYN) for n in range(100_000)])
    paths = zipped(tmp_path / "a.gz", syns), zipped(tmp_path / "b.gz", syns)
    tables = tracked(*paths)
    # Connections without data beyond a limit are counted only.
    kept = tables["flows"]["flow"].n_unique()
    (folded, same) = tables["stats"].filter(pl.col("name") == "flows_folded")["count"]
    assert kept < 90_000
    assert kept + folded == 100_000
    assert folded == same


def test_a_flood_of_syns_hides_no_connection(tmp_path: Path) -> None:
    begin = [frame(100, 0, SYN), frame(500, 101, SYN | ACK, ports=(443, 40000))]
    data = [frame(101 + 100 * n, 501, payload=100) for n in range(10)]
    flood = [frame(7, 0, SYN, ports=(n // 60_000 + 1, n % 60_000 + 1)) for n in range(150_000)]
    path = zipped(tmp_path / "flood.gz", pcap(begin + flood[:75_000] + data + flood[75_000:]))
    tables = tracked(path)
    assert tables["flows"].height < 90_000
    (sent,) = tables["directions"].filter(pl.col("data_packets") > 0).iter_rows(named=True)
    assert sent["data_packets"] == 10


def test_a_storm_of_equal_acks_that_the_other_capture_lacks(tmp_path: Path) -> None:
    begin = [frame(100, 0, SYN), frame(500, 101, SYN | ACK, ports=(443, 40000))]
    storm = begin + [frame(101, 501)] * 400_000
    paths = zipped(tmp_path / "a.gz", pcap(storm)), zipped(tmp_path / "b.gz", pcap(begin))
    tracked(*paths)


def test_data_sent_backwards_and_in_every_order(tmp_path: Path) -> None:
    shuffled = list(range(100_000))
    random.Random(3).shuffle(shuffled)
    for name, order in (("back", range(100_000, 0, -1)), ("any", shuffled)):
        content = pcap([frame(101 + 10 * n, 501, payload=9) for n in order], payload=9)
        tracked(zipped(tmp_path / name, content))


def test_a_sack_storm_over_many_segments(tmp_path: Path) -> None:
    data = [frame(101 + n, 501, payload=1) for n in range(200_000)]
    choose = random.Random(4).randrange
    acks = []
    for _ in range(100_000):
        edges = [101 + choose(200_000) for _ in range(6)]
        blocks = struct.pack(">BBBB6I", 1, 1, 5, 26, *edges)
        acks.append(frame(501, 101, ports=(443, 40000), options=blocks))
    tracked(zipped(tmp_path / "sack", pcap(data + acks, payload=1)))


def test_large_retransmissions_of_many_small_segments(tmp_path: Path) -> None:
    data = [frame(101 + n, 501, payload=1) for n in range(200_000)]
    again = [frame(101 + n % 1000, 501, payload=60_000) for n in range(100_000)]
    tracked(zipped(tmp_path / "again", pcap(data + again, payload=60_000)))
