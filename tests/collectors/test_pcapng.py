"""What we write ourselves is read by our own decoder, and a torn end is mended."""

from __future__ import annotations

from pathlib import Path

import pytest

from l4strace.core import _native
from packets import filters, pcapng

FRAME = bytes(12) + b"\x08\x00" + bytes([0x45]) + bytes(60)


def whole() -> bytes:
    blocks = [pcapng.section(), pcapng.interface("eth0", 1, 128, "tcp port 80")]
    blocks += [pcapng.packet(0, 1_700_000_000_000_000_000 + n, 1500, FRAME) for n in range(5)]
    return b"".join(blocks)


def test_the_decoder_reads_what_we_write(tmp_path: Path) -> None:
    path = tmp_path / "t.pcapng"
    path.write_bytes(whole() + pcapng.statistics(0, 1, 5, 7))
    assert _native.walk(str(path))[0] == 5
    tables = _native.track([str(path)])
    import polars as pl

    stats = pl.DataFrame(tables["stats"])
    assert stats.filter(pl.col("name") == "capture_drops")["count"].to_list() == [7]
    source = pl.DataFrame(tables["sources"]).row(0, named=True)
    assert (source["resolution_ns"], source["snaplen"], source["complete"]) == (1, 128, True)


@pytest.mark.parametrize("cut", [1, 5, 31, 60])
def test_a_torn_end_is_mended(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "t.pcapng"
    path.write_bytes(whole()[:-cut])
    with path.open("r+b") as file:
        removed = pcapng.mend(file.fileno(), 1, "disk full")
        assert pcapng.walk(file.fileno())[:2] == (path.stat().st_size, 4)
    assert removed > 0
    assert _native.walk(str(path))[0] == 4
    assert b"disk full" in path.read_bytes()


@pytest.mark.parametrize(
    ("text", "ports"),
    [
        ("", []),
        ("tcp", []),
        ("port 80", [80]),
        ("tcp port 80 or port 443", [80, 443]),
        ("port 80 or tcp", []),
    ],
)
def test_simple_filters_are_compiled(text: str, ports: list[int]) -> None:
    assert filters.ports_of(text) == ports


def test_others_are_refused() -> None:
    with pytest.raises(filters.UnknownFilterError):
        filters.ports_of("host 10.0.0.1")


def run(steps: list[tuple[int, int, int, int]], data: bytes) -> int:
    """Classic BPF, as far as our filters use it."""
    at = a = x = 0
    while True:
        op, yes, no, k = steps[at]
        at += 1
        if op == 0x30:
            a = data[k]
        elif op == 0x28:
            a = int.from_bytes(data[k : k + 2], "big")
        elif op == 0x48:
            a = int.from_bytes(data[x + k : x + k + 2], "big")
        elif op == 0xB1:
            x = 4 * (data[k] & 15)
        elif op == 0x54:
            a &= k
        elif op == 0x05:
            at += k
        elif op == 0x15:
            at += yes if a == k else no
        elif op == 0x06:
            return k


def ipv4(protocol: int, sport: int, dport: int, options: int = 0) -> bytes:
    head = bytes([0x45 + options // 4]) + bytes(8) + bytes([protocol]) + bytes(10 + options)
    return bytes(14) + head + sport.to_bytes(2, "big") + dport.to_bytes(2, "big") + bytes(20)


def ipv6(protocol: int, sport: int, dport: int) -> bytes:
    head = bytes([0x60]) + bytes(5) + bytes([protocol]) + bytes(33)
    return bytes(14) + head + sport.to_bytes(2, "big") + dport.to_bytes(2, "big") + bytes(20)


@pytest.mark.parametrize(
    ("frame", "passes"),
    [
        (ipv4(6, 80, 1000), True),
        (ipv4(6, 1000, 443), True),
        (ipv4(6, 1000, 443, options=8), True),
        (ipv4(6, 1000, 1001), False),
        (ipv4(17, 80, 443), False),
        (ipv6(6, 80, 1000), True),
        (ipv6(6, 1000, 443), True),
        (ipv6(6, 1000, 1001), False),
        (ipv6(17, 80, 443), False),
        (bytes(80), False),
    ],
)
def test_the_filter_passes_the_ports_and_nothing_else(frame: bytes, passes: bool) -> None:
    assert (run(filters.program([80, 443], True, 128), frame) == 128) is passes
    if frame[23] == 6 or frame[20] == 6:
        assert run(filters.program([], True, 96), frame) == 96
    assert (run(filters.program([80, 443], False, 128), frame[14:]) == 128) is passes
