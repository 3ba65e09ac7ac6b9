"""Wireshark's words for a packet, read into ours."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from l4strace.verify import wireshark
from l4strace.verify.wireshark import READERS, Disagreement, Dissected
from tests.support import files
from tests.support.wrappings import FRAME, LINKS, MIRRORS, TUNNELS, ethernet, outer_v4, outer_v6

DATAGRAM = FRAME[14:]
TUNNEL = {
    "frame.protocols": ["eth:ethertype:ip:ipv6:tcp"],
    "ip.dsfield.ecn": ["3"],
    "ip.ttl": ["7"],
    "ipv6.tclass.ecn": ["1"],
    "ipv6.hlim": ["64"],
}
"""IPv6 in IPv4: the fields of both headers are there."""


def test_the_innermost_header_counts_and_the_outer_one_has_its_column() -> None:
    read = {name: READERS[name](TUNNEL) for name in ("ip_version", "ip_ecn", "ttl", "outer_ecn")}
    assert read == {"ip_version": 6, "ip_ecn": 1, "ttl": 64, "outer_ecn": 3}
    assert READERS["outer_ecn"]({**TUNNEL, "frame.protocols": ["eth:ethertype:ipv6:tcp"]}) is None


def test_the_identification_of_an_ipv6_fragment_keeps_16_bits() -> None:
    assert READERS["ip_id"]({**TUNNEL, "ipv6.fraghdr.ident": ["0x12345678"]}) == 0x5678
    assert READERS["ip_id"](TUNNEL) is None


@pytest.mark.parametrize(
    ("text", "ns"), [("1.5", 1_500_000_000), ("1", 1_000_000_000), ("0.0000000019", 1)]
)
def test_time_is_exact_to_the_nanosecond(text: str, ns: int) -> None:
    assert READERS["ts_ns"]({"frame.time_epoch": [text]}) == ns


def test_edges_of_sack_blocks_alternate() -> None:
    blocks = {"tcp.options.sack_le": ["10", "30"], "tcp.options.sack_re": ["20", "40"]}
    assert READERS["sack"](blocks) == [10, 20, 30, 40]
    assert READERS["sack"]({}) is None


@pytest.mark.parametrize(
    ("kinds", "lengths", "exids", "accecn"),
    [
        (["1", "1", "172"], ["11"], [], (172, None, 11)),
        (["8", "1", "174"], ["10", "8"], [], (174, None, 8)),
        (["2", "254"], ["4", "7"], ["0xacce"], (254, 0xACCE, 7)),
        (["254"], ["7"], ["0xf989"], (None, None, None)),
    ],
)
def test_the_accecn_option_is_found_among_the_others(
    kinds: list[str], lengths: list[str], exids: list[str], accecn: tuple[int | None, ...]
) -> None:
    """NOP has no length; kind 254 is AccECN only with one of its three experiment numbers."""
    packet = {
        "tcp.option_kind": kinds,
        "tcp.option_len": lengths,
        "tcp.options.experimental.exid": exids,
    }
    read = tuple(READERS[name](packet) for name in ("accecn_kind", "accecn_exid", "accecn_len"))
    assert read == accecn


GUESSED = {"pseudowire"}
"""MPLS names no payload: without an Ethernet address in it, Wireshark takes ours for IPv6."""


def wrapped() -> dict[str, bytes]:
    """Name -> a frame of Ethernet, once for each wrapping that it can carry."""
    links = {
        name: wrap(DATAGRAM)
        for name, (link, wrap) in LINKS.items()
        if link == files.ETHERNET and name not in GUESSED
    }
    tunnels = {name: ethernet(outer_v4(*wrap(DATAGRAM), 2)) for name, (_, wrap) in TUNNELS.items()}
    mirrors = {name: ethernet(outer_v4(*wrap(DATAGRAM), 2)) for name, wrap in MIRRORS.items()}
    return links | tunnels | mirrors | {"ip in ipv6": ethernet(outer_v6(4, DATAGRAM, 3))}


def dissected(path: Path, count: int) -> list[Dissected]:
    return list(wireshark.dissect(str(path), range(1, count + 1)))


@pytest.mark.needs("tshark")
def test_every_wrapping_is_read_alike(tmp_path: Path) -> None:
    frames = wrapped()
    path = tmp_path / "wrapped.pcap"
    path.write_bytes(files.pcap(list(frames.values())))
    ours = files.packets(path).to_dicts()
    theirs = dissected(path, len(frames))
    assert len(ours) == len(theirs) == len(frames)
    found = {
        name: disagreements
        for name, row, packet in zip(frames, ours, theirs, strict=True)
        if (disagreements := wireshark.compare(row, packet))
    }
    assert found == {}


@pytest.mark.needs("tshark")
def test_a_wrong_value_is_a_disagreement(tmp_path: Path) -> None:
    path = tmp_path / "two.pcap"
    path.write_bytes(files.pcap([FRAME, FRAME]))
    row = files.packets(path).to_dicts()[1] | {"window": 4711}
    (packet,) = wireshark.dissect(str(path), [2])
    assert wireshark.compare(row, packet) == [Disagreement(2, "window", 4711, 500)]


def scripted(folder: Path, tshark: str) -> str:
    """PATH on which tshark is a script that runs ``tshark`` once it dissects."""
    program = folder / "bin" / "tshark"
    program.parent.mkdir()
    real = shutil.which("tshark")
    program.write_text(f'#!/bin/sh\n[ "$1" = -v ] && exec {real} -v\n{tshark.format(real=real)}\n')
    program.chmod(0o755)
    return f"{program.parent}:{os.environ['PATH']}"


def verified(path: Path, tshark: str) -> subprocess.CompletedProcess[str]:
    """`l4strace verify` with such a tshark."""
    command = [sys.executable, "-m", "l4strace", "verify", str(path)]
    paths = {"PATH": scripted(path.parent, tshark)}
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=300, env=os.environ | paths
    )


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("tshark", ["exit 2", "exit 0"])
def test_a_file_that_tshark_does_not_show_is_one_clear_error(tmp_path: Path, tshark: str) -> None:
    path = tmp_path / "refused.pcap"
    path.write_bytes(files.pcap([FRAME, FRAME]))
    done = verified(path, tshark)
    assert done.returncode == 3
    assert done.stderr.split() == f"error: {path}: tshark cannot read it".split()


REFUSED = """
import gc, signal, sys
from l4strace.errors import InputError
from l4strace.verify import wireshark
try:
    list(wireshark.dissect(sys.argv[1], [1]))
except InputError as error:
    print(error)
gc.collect()
assert signal.set_wakeup_fd(-1) == -1
"""


@pytest.mark.needs("tshark")
def test_pyshark_leaves_nothing_behind_after_a_crash(tmp_path: Path) -> None:
    path = tmp_path / "refused.pcap"
    path.write_bytes(files.pcap([FRAME]))
    paths = {"PATH": scripted(tmp_path, "exit 2")}
    command = [sys.executable, "-c", REFUSED, str(path)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, timeout=300, env=os.environ | paths
    )
    assert (done.stdout, done.stderr) == (f"{path}: tshark cannot read it\n", "")


@pytest.mark.needs("tshark")
@pytest.mark.parametrize(("cut", "tshark"), [(0, '{real} "$@"; exit 255'), (10, '{real} "$@"')])
def test_what_tshark_has_shown_counts_however_it_ends(
    tmp_path: Path, cut: int, tshark: str
) -> None:
    path = tmp_path / "run.pcap"
    whole = files.pcap([FRAME, FRAME])
    path.write_bytes(whole[: len(whole) - cut])
    done = verified(path, tshark)
    assert (done.returncode, done.stderr) == (0, "")
    assert "all equal" in done.stdout
