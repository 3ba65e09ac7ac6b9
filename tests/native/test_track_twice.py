"""Packets that a capture holds twice count once, and `stats` reports them."""

import struct
from pathlib import Path

import polars as pl
import pytest

from l4strace.core import _native
from tests.support import files
from tests.support.wrappings import tcp_headers as frame

SYN, SYN_ACK = 0x002, 0x012


def conversation(payload: int) -> list[tuple[int, bytes, int]]:
    """(microseconds, frame, payload) of a handshake and 200 data packets over 10 ms, no IP ids."""
    packets = [
        (0, frame(1000, 0, SYN), 0),
        (10_000, frame(5000, 1001, SYN_ACK, ports=(443, 40000)), 0),
        (10_100, frame(1001, 5001), 0),
    ]
    for n in range(200):
        at = 20_000 + 1000 * n
        packets.append((at, frame(1001 + payload * n, 5001, payload=payload), payload))
        ack = frame(5001, 1001 + payload * (n + 1), ports=(443, 40000))
        packets.append((at + 10_000, ack, 0))
    return sorted(packets, key=lambda packet: packet[0])


@pytest.mark.parametrize("apart_us", [0, 5, 400])
def test_two_interfaces_of_one_host(tmp_path: Path, apart_us: int) -> None:
    content = files.pcap([])
    seen = [(at + shift, *rest) for at, *rest in conversation(1000) for shift in (0, apart_us)]
    for at, data, payload in sorted(seen, key=lambda packet: packet[0]):
        size = len(data)
        content += struct.pack("<IIII", 1_700_000_000, at * 1000, size, size + payload) + data
    path = tmp_path / "any.pcap"
    path.write_bytes(content)
    tables = {name: pl.DataFrame(table) for name, table in _native.track([str(path)]).items()}
    data, acks = tables["directions"].sort("forward", descending=True).iter_rows(named=True)
    assert (data["data_packets"], data["payload_bytes"]) == (200, 200_000)
    assert (data["retransmits"], data["out_of_order"]) == (0, 0)
    assert (data["acks"], acks["acks"]) == (1, 200)
    stats = dict(tables["stats"].select("name", "count").iter_rows())
    assert stats["seen_twice"] == 403
