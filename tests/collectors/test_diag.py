"""inet_diag: the filter that the kernel runs, TCP_INFO of both ages, Prague's attribute."""

from __future__ import annotations

import io
import json
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import netlink
from kernel import diag
from l4strace.ingest.logs import kernel_log
from log import Log


@pytest.fixture
def connection() -> Iterator[tuple[socket.socket, socket.socket]]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
        with client, accepted:
            client.sendall(b"x" * 1000)
            accepted.recv(1000)
            yield client, accepted


def dump(ports: list[int]) -> list[tuple[int, int]]:
    message = netlink.request(socket.AF_INET, (diag.INFO, diag.CONG), ports)
    return [
        (int.from_bytes(fields[4], "big"), int.from_bytes(fields[5], "big"))
        for fields, _ in netlink.Sockets().dump(message)
    ]


def test_the_kernel_filters_by_any_of_several_ports(
    connection: tuple[socket.socket, socket.socket],
) -> None:
    client, accepted = connection
    ends = (client.getsockname()[1], accepted.getsockname()[1])
    both = {ends, ends[::-1]}
    for ports in ([ends[0]], [1, 2, 3, ends[1]], [ends[1], 1, 2]):
        # Another socket of this host may have one of the ports by chance.
        found = set(dump(ports))
        assert both <= found
        assert all(set(ports) & set(pair) for pair in found)
    assert not both & set(dump([1, 2, 3]))
    assert both <= set(dump([]))


def test_a_live_socket_is_read_as_getsockopt_reads_it(
    connection: tuple[socket.socket, socket.socket],
) -> None:
    client, _ = connection
    port = client.getsockname()[1]
    message = netlink.request(socket.AF_INET, (diag.INFO, diag.CONG), [port])
    records = [
        diag.record_of(fields, found, diag.kernel_version())
        for fields, found in netlink.Sockets().dump(message)
    ]
    peer = client.getpeername()[1]
    (own,) = [record for record in records if (record["sport"], record["dport"]) == (port, peer)]
    raw = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512)
    assert own["saddr"] == own["daddr"] == "127.0.0.1"
    assert own["snd_cwnd"] == struct.unpack_from("=I", raw, 80)[0]
    assert own["delivered"] == struct.unpack_from("=I", raw, 192)[0]
    cc = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16)
    assert own["cc"] == cc.split(b"\0")[0].decode()


def info(size: int = 280) -> bytearray:
    raw = bytearray(size)
    struct.pack_into("=I", raw, 76, 0x7FFFFFFF)
    struct.pack_into("=Q", raw, 104, 0xFFFFFFFFFFFFFFFF)
    return raw


def test_unknown_values_are_left_out() -> None:
    record = diag.tcp_info(bytes(info()), (6, 18))
    assert record["ssthresh"] is None
    assert "pacing_rate_bps" not in record


def test_the_last_word_of_tcp_info_changed_with_linux_7() -> None:
    raw = info()
    struct.pack_into("=HH", raw, 276, 3, 1)
    old = diag.tcp_info(bytes(raw), (6, 18))
    assert (old["accecn_fail_mode"], old["accecn_opt_seen"]) == (3, 1)
    assert "ecn_mode" not in old
    struct.pack_into("=I", raw, 276, 2 | 1 << 2 | 5 << 4)
    new = diag.tcp_info(bytes(raw), (7, 0))
    assert (new["ecn_mode"], new["accecn_opt_seen"], new["accecn_fail_mode"]) == (2, 1, 5)


def test_an_older_tcp_info_has_no_accecn() -> None:
    record = diag.tcp_info(bytes(info(248)), (5, 15))
    assert "received_ce" not in record
    assert "delivered_ce" in record


NEW = struct.pack("=QQQIIIB3x", 1 << 20, (40 << 20) - 9, 2_000_000, 3, 77, 200_000, 1)
OLD40 = struct.pack("=QQIIIIIB3x", 1 << 18, 26_214, 3, 77, 500, 1, 25_000, 1)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (struct.pack("=IIII", 524_288, 1, 2, 3), {"alpha_raw": 524_288, "max_burst": 3}),
        (
            struct.pack("=QQIIIB3x", 1 << 19, 1000, 3, 77, 1, 1),
            {"alpha_raw": 1 << 19, "ai_ack_increase": 1000, "round": 77, "prague_enabled": True},
        ),
        (OLD40, {"alpha_raw": 1 << 18, "ai_ack_increase": 26_214, "round": 77}),
        (NEW, {"alpha_raw": 1 << 20, "frac_cwnd": (40 << 20) - 9, "rtt_target": 200_000}),
    ],
)
def test_every_variant_of_pragues_attribute(raw: bytes, expected: dict[str, int]) -> None:
    record = diag.prague_info(raw, 40)
    assert expected.items() <= record.items()
    assert "alpha" not in record, "20 bits or 24: the attribute does not show it"


def test_dctcps_attribute_is_read_with_its_ten_bits() -> None:
    raw = struct.pack("=HHIII", 1, 0, 512, 7, 99)
    assert diag.dctcp_info(raw)["alpha"] == 0.5


class Clock:
    """Time that only passes where it is told to; stops at `end`."""

    def __init__(self, end: float) -> None:
        self.now, self.end = 0.0, end

    def __bool__(self) -> bool:
        return self.now >= self.end

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def dump(self, _message: object) -> list[object]:
        """Answers at once, but for a quarter of a second in the middle of the first one."""
        if 0.5 <= self.now < 0.51:
            self.now += 0.25
        return []


def test_polls_that_come_late_are_lost_and_not_made_up_for(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stream = Clock(1.0), io.BytesIO()
    log = Log(stream, diag.COLLECTOR, diag.COMMON)
    monkeypatch.setattr(diag.time, "monotonic", lambda: clock.now)
    diag.poll(log, clock, clock, [b"all"], 10.0)
    assert 23 <= log.lost["late_polls"] <= 25


def test_a_log_passes_the_validator(
    connection: tuple[socket.socket, socket.socket], tmp_path: Path
) -> None:
    port = connection[0].getsockname()[1]
    stream = io.BytesIO()
    fields = dict(diag.COMMON)
    fields.update((name, kind) for _, _, name, kind in diag.TCP_INFO + diag.ACCECN)
    log = Log(stream, diag.COLLECTOR, fields)
    message = netlink.request(socket.AF_INET, (diag.INFO, diag.CONG), [port])
    for values, found in netlink.Sockets().dump(message):
        log.sample("poll", {"ts_ns": 1} | diag.record_of(values, found, (6, 18)))
    log.close("exit")
    path = tmp_path / "run.kernel.ndjson"
    path.write_bytes(stream.getvalue())
    read = kernel_log.read(str(path))
    assert read.complete
    assert read.samples.height == 2
    header = json.loads(stream.getvalue().splitlines()[0])
    assert header["clock"]["id"] == "monotonic"
    assert "layout" not in header, "nothing that the attribute says names a layout"
    assert sys.byteorder == "little"
