"""Sockets of other network namespaces are not recorded."""

from __future__ import annotations

import re
import socket
import struct
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import netlink
from kernel import namespace
from kernel.namespace import Namespace

HEADER = Path(__file__).resolve().parents[2] / "collectors" / "kernel" / "sample.bpf.h"
Ends = tuple[str, str, int, int]


@pytest.fixture(params=["127.0.0.1", "::1"])
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    """Addresses and ports of a connection in this namespace, as its listener sees it."""
    family = netlink.family_of(request.param)
    with (
        socket.create_server((request.param, 0), family=family) as server,
        socket.create_connection(server.getsockname()[:2]) as client,
    ):
        accepted, _ = server.accept()
        with accepted:
            near, far = accepted.getsockname(), client.getsockname()
            yield near[0], far[0], near[1], far[1]


def cookie(ends: Ends) -> int:
    found = netlink.Sockets().find(netlink.lookup(*ends))
    assert found is not None
    return int(struct.unpack("=Q", found[9])[0])


def test_a_socket_of_this_namespace_is_found_with_and_without_its_cookie(ends: Ends) -> None:
    ours = Namespace()
    assert ours.has(*ends)
    assert ours.has(*ends, cookie(ends))


def test_the_same_loopback_addresses_elsewhere_are_not_ours(ends: Ends) -> None:
    assert not Namespace().has(*ends, cookie(ends) + (1 << 40))


def test_a_listener_does_not_answer_for_a_socket_of_another_namespace(ends: Ends) -> None:
    saddr, daddr, sport, _ = ends
    assert not Namespace().has(saddr, daddr, sport, 1)


def test_a_socket_that_closed_counts_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def can_bind(address: str, scope: int) -> bool:
        asked.append((address, scope))
        return address == "192.0.2.1"

    monkeypatch.setattr(namespace, "can_bind", can_bind)
    ours = Namespace()
    assert ours.has("192.0.2.1", "192.0.2.9", 5201, 40000)
    assert not ours.has("192.0.2.2", "192.0.2.9", 5201, 40000)
    told = len(asked)
    assert not ours.has("192.0.2.2", "192.0.2.9", 5201, 40001)
    assert len(asked) == told, "each address is asked for once"


def test_addresses_are_tried_as_the_kernel_allows() -> None:
    assert namespace.can_bind("127.0.0.1", 0)
    assert not namespace.can_bind("192.0.2.1", 0)


@pytest.mark.needs("g++")
@pytest.mark.parametrize(
    ("wanted", "ours"), [(0, True), (7, True), (8, False)], ids=["all", "its own", "another"]
)
def test_the_program_of_bcc_reads_the_namespace_of_a_socket(
    tmp_path: Path, wanted: int, ours: bool
) -> None:
    function = re.search(r"static inline int is_ours.*?\n}\n", HEADER.read_text(), re.S)
    assert function
    (tmp_path / "it.cpp").write_text(
        """#include <cstdint>
        #include <cstring>
        typedef uint64_t u64; typedef uint32_t u32;
        static void bpf_probe_read_kernel(void *to, int n, void *from) { memcpy(to, from, n); }
        """
        + function[0]
        + """
        int main() {
            struct { u64 before; u32 inum; } net = {0, 7};
            struct { u64 before; void *net; } sk = {0, &net};
            return !is_ours((u64)&sk);
        }"""
    )
    macros = {"NAMESPACE": wanted, "OFF_NET": 8, "OFF_INUM": 8}
    options = [f"-D{name}={value}" for name, value in macros.items()]
    command = ["g++", "-w", *options, "it.cpp", "-o", "it"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "it"], check=False)
    assert (done.returncode == 0) is ours
