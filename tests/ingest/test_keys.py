"""QUIC whose keys are given: what its acknowledgements count, and what happens without tshark."""

from __future__ import annotations

import json
import lzma
import struct
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.errors import InputError
from l4strace.evidence import Capture, traffic
from l4strace.ingest import files, keys
from l4strace.model import Finding, Rule
from l4strace.rules import l4s115_ecn_validation_failed as l4s115
from l4strace.rules import l4s208_kernel_packets_disagree as l4s208
from l4strace.schema.words import Stat
from tests.support import ends
from tests.support.files import block, enhanced, interface, option, section
from tests.support.places import FIXTURES

RUNS = FIXTURES / "user-space"
A, B, KEYS = (str(RUNS / name) for name in ("qk-a.pcap.xz", "qk-b.pcap.xz", "qk-a.keys"))
BLEACHED = str(RUNS / "qkbleach-a.pcap.xz")
SECRET = f"CLIENT_TRAFFIC_SECRET_0 {'0a' * 32} {'0b' * 32}\n".encode()
NAMES = ("reported_packets", "ce_fed_back_lo", "ce_fed_back_hi", "reported_ect0", "reported_ect1")


def read(*paths: str | Path) -> Capture:
    return pipeline.read([str(path) for path in paths], companions=False)


def sent(capture: Capture, source: int = 0) -> dict[str, Any]:
    """The direction of the data, as one capture shows it."""
    rows = traffic(capture).directions.filter(pl.col("forward"), pl.col("source") == source)
    return rows.row(0, named=True)


def found_by(rule: Rule, capture: Capture) -> list[Finding]:
    return ends.findings(rule, pipeline.derive(capture, strict=True))


def why(capture: Capture) -> list[str]:
    return capture.stats.filter(pl.col("name") == Stat.KEYS_UNUSED)["detail"].to_list()


def with_secrets(folder: Path) -> Path:
    """The capture with its keys in it, as pcapng."""
    data, secrets = lzma.decompress(Path(A).read_bytes()), Path(KEYS).read_bytes()
    (link_type,) = struct.unpack_from("<I", data, 20)
    parts = [
        section(),
        block(10, struct.pack("<II", 0x544C534B, len(secrets)) + secrets),
        interface(link_type, options=option(9, b"\x09")),
    ]
    at = 24
    while at < len(data):
        seconds, fraction, captured = struct.unpack_from("<III", data, at)
        parts.append(enhanced(data[at + 16 : at + 16 + captured], seconds * 10**9 + fraction))
        at += 16 + captured
    (path := folder / "inside.pcapng").write_bytes(b"".join(parts))
    return path


@pytest.mark.needs("tshark")
def test_what_is_acknowledged_is_what_arrived() -> None:
    capture = read(A, B, KEYS)
    near, far = (sent(capture, source) for source in (0, 1))
    assert [near[name] for name in NAMES] == [far[name] for name in NAMES]
    # Three packets of the handshake are of other packet number spaces, and Not-ECT but for one.
    assert (near["packets"], near["reported_packets"], near["reported_lost"]) == (246, 243, 0)
    assert near["ce_fed_back_lo"] == near["ce_fed_back_hi"] == far["ce"] == 20
    assert (near["reported_ect0"], far["ect0"], near["reported_ect1"]) == (222, 223, 0)
    assert 10_000 < near["rtt_min_us"] < 10_500
    assert not capture.udp_flows.height
    assert capture.flows["vantage"].to_list() == ["client", "server"]
    assert capture.sources.filter(kind="keys").select("path", "records").row(0) == (KEYS, 4)
    assert not why(capture)


@pytest.mark.needs("tshark")
def test_keys_lie_beside_the_capture_or_in_it(tmp_path: Path) -> None:
    named = sent(read(A, KEYS))
    beside = sent(pipeline.read([A]))
    inside = sent(read(with_secrets(tmp_path)))
    assert [beside[name] for name in NAMES] == [named[name] for name in NAMES]
    assert [inside[name] for name in NAMES] == [named[name] for name in NAMES]


@pytest.mark.needs("tshark")
def test_acknowledgements_show_why_a_sender_gave_up_ecn() -> None:
    """One capture at the sender: the receiver counts nothing, though it acknowledges."""
    (found,) = found_by(l4s115.RULE, read(BLEACHED, RUNS / "qkbleach-a.keys"))
    assert "The acknowledgements do not count ECT" in found.message
    (without,) = found_by(l4s115.RULE, read(BLEACHED))
    assert "one capture does not show which" in without.message


@pytest.mark.needs("tshark")
def test_a_log_of_the_sender_is_compared_with_what_keys_open(tmp_path: Path) -> None:
    """A qlog that counts the marks on the wire, and one that counts none."""
    known = read(A, KEYS)
    rounds = known.rounds.filter("forward").select("end_ns", ce=pl.col("ce_lo").cum_sum()).rows()
    begun_ms = rounds[0][0] // 10**6
    start = {
        "src_ip": "10.9.0.1",
        "src_port": known.flows["client_port"][0],
        "dst_ip": "10.9.0.2",
        "dst_port": 4433,
    }

    def compared(share: int) -> list[Finding]:
        records: list[Any] = [
            {"qlog_version": "0.3", "trace": {"common_fields": {"reference_time": begun_ms}}},
            {"time": 0, "name": "connection_started", "data": start},
        ]
        for number, (end_ns, ce) in enumerate(rounds):
            ack: dict[str, Any] = {"frame_type": "ack", "ect0": number, "ce": ce * share}
            ack["acked_ranges"] = [[0, number]]
            event = {
                "time": end_ns / 1e6 - begun_ms,
                "name": "packet_received",
                "data": {"frames": [ack]},
            }
            records.append(event)
        log = tmp_path / f"{share}.qlog"
        log.write_text("".join(json.dumps(record) + "\n" for record in records))
        return found_by(l4s208.RULE, read(A, KEYS, log))

    assert not compared(1)
    (found,) = compared(0)
    assert "delivered_ce grew by 0" in found.message


@pytest.mark.needs("tshark")
@pytest.mark.parametrize(
    ("capture", "log", "reason"),
    [
        (A, SECRET, "no key of the log opens a connection"),
        ("cut", None, "no key of the log opens a connection"),
        (str(FIXTURES / "healthy" / "healthy.pcap.xz"), None, "tshark shows no QUIC"),
    ],
)
def test_keys_that_open_nothing_leave_the_rest_as_it_is(
    capture: str, log: bytes | None, reason: str, tmp_path: Path
) -> None:
    path = str(RUNS / "qg1-a.pcap.xz") if capture == "cut" else capture
    (secrets := tmp_path / "keys").write_bytes(log or Path(KEYS).read_bytes())
    found, plain = read(path, secrets), read(path)
    assert reason in why(found)[0]
    for name in ("flows", "directions", "rounds", "udp_flows", "udp_directions"):
        assert getattr(found, name).equals(getattr(plain, name)), name


def test_without_tshark_one_line_names_the_package(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found, plain = read(A, KEYS), read(A)
    (reason,) = why(found)
    assert reason == "QUIC stays encrypted: tshark is missing (package tshark, or wireshark-cli)."
    assert capsys.readouterr().err.count(reason) == 1
    assert found.udp_directions.equals(plain.udp_directions)


def opened(monkeypatch: pytest.MonkeyPatch, folder: Path, text: bytes) -> keys.Opened:
    """What is read of a key log, where no tshark is."""
    monkeypatch.setenv("PATH", str(folder))
    (log := folder / "run.txt").write_bytes(text)
    return keys.opened(files.of_run([A, str(log)], companions=False))


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        (SECRET * 3, 3),
        (b"# a comment\r\n\r\n" + SECRET.replace(b"\n", b"\r\n"), 1),
        (SECRET + SECRET[:80], 1),
        (SECRET + b"CLIENT_RANDOM " + SECRET[24:], 1),
        (SECRET + b"\0\xff" * 5000 + b"\n" + SECRET, 2),
        (SECRET + b"x" * (20 << 20) + b"\n" + SECRET, 2),
        (SECRET.replace(b"CLIENT", b"EXPORTER").replace(b"_TRAFFIC", b""), 0),
        (lzma.compress(SECRET * 2), 2),
        (lzma.compress(SECRET * 50_000)[:-40], 49_000),
    ],
    ids=["sound", "comments", "torn", "tls", "binary", "long", "exporter", "packed", "cut"],
)
def test_a_damaged_log_gives_the_secrets_that_it_holds(
    text: bytes, secrets: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (log,) = opened(monkeypatch, tmp_path, text).logs
    assert log.secrets == secrets or (log.error and log.secrets > 0)


def test_the_log_of_a_browser_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (log,) = opened(monkeypatch, tmp_path, SECRET * (keys.MOST_SECRETS + 7)).logs
    assert (log.secrets, log.left_out) == (keys.MOST_SECRETS, 7)


def test_what_only_has_the_name_of_a_companion_is_none(tmp_path: Path) -> None:
    capture = tmp_path / "run.pcap.xz"
    capture.write_bytes(Path(A).read_bytes())
    (tmp_path / "run.keys").write_text("a;b;c\n")
    assert pipeline.read([str(capture)]).sources["kind"].to_list() == ["pcap"]


def test_keys_alone_are_no_run() -> None:
    with pytest.raises(InputError, match="keys, and no packets"):
        read(KEYS)


@pytest.mark.parametrize("size", [0, 9, 40, 200])
def test_a_damaged_block_of_secrets_is_none_or_one(
    size: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    path = with_secrets(tmp_path)
    path.write_bytes(path.read_bytes()[: 28 + size])
    assert len(why(read(path))) == (size >= 40)


@pytest.mark.needs("tshark")
@pytest.mark.parametrize("case", range(6))
def test_whatever_is_damaged_is_judged_as_far_as_it_opens(case: int, tmp_path: Path) -> None:
    """Bytes of packets and record headers changed behind the handshake, and the end cut off."""
    chance = Random(case)
    data = bytearray(lzma.decompress(Path(A).read_bytes()))
    for _ in range(10 * case):
        data[chance.randrange(8000, len(data))] = chance.randrange(256)
    (path := tmp_path / "run.pcap").write_bytes(data[: len(data) - 3000 * case])
    seen = read(path, KEYS)
    pipeline.judge(pipeline.derive(seen, strict=True), strict=True)
    reported = traffic(seen).directions["reported_packets"].max()
    assert reported is None or reported <= 243  # type: ignore[operator]
    assert case or reported == 243
