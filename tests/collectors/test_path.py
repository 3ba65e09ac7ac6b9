"""What `doctor --host` concludes from one handshake, and through a hop that changes codepoints."""

from __future__ import annotations

import json
import socket
import struct
import sys

import pytest

from host import handshake, path
from host.handshake import CE, ECT0, ECT1, NOT_ECT, Answer
from tests.support.accecn_server import served
from tests.support.network import PORT, RIGHT_ADDRESS, Network, network

SYNACK = 0x012
PORTS = (40_000, 443)
NUMBER = 0xFFFFFFFF


def answer(ace: int, ecn: int = NOT_ECT) -> Answer:
    return Answer(SYNACK | ace << 6, ecn)


@pytest.mark.parametrize(
    ("ace", "accecn", "there", "says"),
    [
        (0b011, "ok", "ok", "arrived as ECT(1)"),
        (0b110, "ok", "ok", "arrived as CE, as the server reports: a queue marked it"),
        (0b010, "ok", "no", "arrived as Not-ECT, as the server reports: the path changes it"),
        (0b100, "ok", "no", "arrived as ECT(0)"),
        (0b101, "ok", "limited", "unknown how the SYN arrived: its code states nothing"),
        (0b001, "no", "limited", "unknown how the SYN arrived: only AccECN reports it"),
        (0b000, "no", "limited", "only AccECN reports it"),
        (0b111, "no", "limited", "only AccECN reports it"),
    ],
)
def test_the_code_of_the_syn_ack_shows_the_way_there(
    ace: int, accecn: str, there: str, says: str
) -> None:
    assert path.check_accecn(answer(ace))["state"] == accecn
    row = path.check_there(answer(ace))
    assert row["state"] == there
    assert says in row["says"]


@pytest.mark.parametrize(
    ("ecn", "state"), [(ECT1, "ok"), (NOT_ECT, "limited"), (ECT0, "limited"), (CE, "limited")]
)
def test_the_way_back_is_known_only_where_ect1_arrives(ecn: int, state: str) -> None:
    assert path.check_back(answer(0b011, ecn))["state"] == state


def test_a_connection_of_a_new_kernel_states_its_mode() -> None:
    info = bytes(276) + struct.pack("=I", 0b1110)
    assert path.mode(info) == "AccECN"
    assert path.mode(info[:-1]) is None
    rows = path.unprobed("AccECN", "no right", "sudo")
    assert [row["state"] for row in rows] == ["ok", "limited", "limited"]
    assert {row["remedy"] for row in path.unprobed(None, "no right", "sudo")} == {"sudo"}


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (PermissionError(), "unknown: a SYN of our own needs CAP_NET_RAW"),
        (OSError(105, "No buffer"), "unknown: a SYN of our own cannot be sent: No buffer"),
    ],
)
def test_a_syn_that_cannot_be_sent_leaves_the_path_unknown(
    error: OSError, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*_: object) -> None:
        raise error

    monkeypatch.setattr(handshake, "ask", ask)
    monkeypatch.setattr(path, "by_kernel", lambda _: None)
    with socket.create_server(("127.0.0.1", 0)) as server:
        first, *others = path.examine("127.0.0.1", server.getsockname()[1])
    assert first["state"] == "ok"
    assert {row["says"] for row in others} == {says}


@pytest.mark.parametrize(
    ("states", "says"),
    [
        (("ok", "ok", "ok"), "L4S gets through to this server and back"),
        (("ok", "ok", "limited"), "Whether L4S gets through is not known: back."),
        (("ok", "no", "limited"), "L4S does not get through to this server: there."),
    ],
)
def test_the_sentence_claims_no_more_than_the_lines(states: tuple[str, ...], says: str) -> None:
    topics = ("AccECN", "there", "back")
    rows = [path.line(topic, state, "x") for topic, state in zip(topics, states, strict=True)]
    assert path.sentence(rows).startswith(says)


RESET = Answer(0x014, NOT_ECT)


@pytest.mark.parametrize(
    ("answers", "states", "says"),
    [
        ({ECT1: answer(0b011)}, ("ok", "ok", "limited"), "accepted"),
        ({ECT1: None, NOT_ECT: answer(0b010)}, ("ok", "no", "limited"), "accepted"),
        ({ECT1: RESET, NOT_ECT: RESET}, ("no", "limited", "limited"), "resets SYNs that request"),
        ({ECT1: None, NOT_ECT: None}, ("no", "limited", "limited"), "drops SYNs that request"),
    ],
)
def test_a_syn_without_answer_is_tried_without_ect(
    monkeypatch: pytest.MonkeyPatch,
    answers: dict[int, Answer | None],
    states: tuple[str, ...],
    says: str,
) -> None:
    monkeypatch.setattr(handshake, "ask", lambda *words: answers[words[3]])
    rows = path.probed(2, ("10.0.0.1", 1), ("10.0.0.2", 443))
    assert tuple(row["state"] for row in rows) == states
    assert says in rows[0]["says"]


def segment(flags: int, ack: int, options: bytes = b"", ports: tuple[int, int] = PORTS) -> bytes:
    words = (20 + len(options)) // 4 << 12 | flags
    return struct.pack(">HHIIHHHH", ports[1], ports[0], 7, ack, words, 0, 0, 0) + options


def test_only_the_answer_to_the_syn_counts() -> None:
    def read(data: bytes) -> Answer | None:
        return handshake.read(data, ECT1, PORTS, NUMBER)

    option = b"\x01" + bytes([174, 11]) + bytes(9)
    found = read(segment(SYNACK | 0b011 << 6, 0, option))
    assert found is not None
    assert (found.ace, found.ecn, found.option, found.reset) == (0b011, ECT1, 174, False)
    reset = read(segment(0x014, 0))
    assert reset is not None
    assert reset.reset
    assert read(segment(SYNACK, 5)) is None
    assert read(segment(SYNACK, 0, ports=(40_001, 443))) is None
    assert read(segment(0x010, 0)) is None
    assert read(b"short") is None
    assert list(handshake.kinds(bytes([2, 0, 3]))) == [2]


def test_the_checksum_is_that_of_rfc_1071() -> None:
    syn = handshake.syn(handshake.socket.AF_INET, "10.0.0.1", "10.0.0.2", PORTS, 1)
    pseudo = bytes([10, 0, 0, 1, 10, 0, 0, 2, 0, 6, 0, len(syn)])
    assert handshake.checksum(pseudo + syn) == 0
    assert syn[13] & 0xC2 == 0xC2
    assert syn[12] & 1


def asked(net: Network, port: int) -> tuple[int, dict[str, str]]:
    """Exit code and states of `doctor --host` from left to right."""
    command = [sys.executable, "-m", "l4strace", "doctor", "--json"]
    done = net.run(net.left, *command, "--host", f"{RIGHT_ADDRESS}:{port}")
    assert done.stdout, done.stderr
    return done.returncode, {
        row["topic"]: row["state"] for row in json.loads(done.stdout)["doctor"]
    }


@pytest.mark.root
@pytest.mark.needs("ip", "tc", "clang", "bpftool", "ethtool")
@pytest.mark.parametrize(
    ("hop", "side", "code", "there", "back"),
    [
        ("", "right", 0, "ok", "ok"),
        ("bleach", "right", 1, "no", "ok"),
        ("remark", "right", 1, "no", "ok"),
        ("bleach", "left", 0, "ok", "limited"),
    ],
)
def test_a_hop_that_changes_codepoints_is_found_as_far_as_one_end_shows(
    hop: str, side: str, code: int, there: str, back: str
) -> None:
    with network() as net, served(net, hop, side) as port:
        found = asked(net, port)
    states = {"server": "ok", "AccECN": "ok", "ECT(1) out": there, "ECT(1) back": back}
    assert found == (code, states)


@pytest.mark.root
@pytest.mark.needs("ip", "ethtool")
def test_a_server_with_classic_ecn_is_found() -> None:
    with network() as net:
        code, states = asked(net, PORT)
    assert (code, states["AccECN"], states["ECT(1) out"]) == (1, "no", "limited")
