"""Copies that can be shared: the same findings, under other addresses and names."""

import re
import stat
import struct
import subprocess
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import l4strace
from l4strace.core import _native
from l4strace.errors import InputError, OutputError, UsageError
from l4strace.redact import mask as masks
from l4strace.redact import ss as redact_ss
from l4strace.redact import words
from l4strace.redact.mask import Mask
from l4strace.redact.output import Folder
from l4strace.redact.run import redact
from tests.support import files

KEY = bytes(range(32))
MASK = Mask(KEY)
RUNS = {
    "bleached": ["accecn-bleached/sender.pcap.xz"],
    "both-ends": ["accecn-remarked/sender.pcap.xz", "accecn-remarked/receiver.pcap.xz"],
    "kernel-log": ["accecn-clean/sender.pcap.xz"],
    "host": ["dctcp/dctcp.pcapng.xz"],
    "trace": ["misfire/misfire.pcap.xz"],
}


def copied(paths: list[Path], folder: Path, mask: Mask = MASK) -> list[str]:
    """The copies of the named inputs."""
    copies = redact([str(path) for path in paths], Folder(str(folder)), mask)
    assert [copy.left_out for copy in copies if copy.left_out] == []
    return [str(folder / path.name) for path in paths]


def findings(paths: list[str], say: Any = str) -> list[Any]:
    """What is found, as the page shows it."""
    analysis = l4strace.open(*paths).analysis
    found = [
        (f.rule, f.severity, f.confidence, say(f.message), f.flow, f.forward, f.span_ns, f.frames,
         *((say(m.name), m.value, m.unit) for m in f.measures))
        for f in analysis.findings
    ]  # fmt: skip
    return [*found, *((s.rule, say(s.reason), s.flow) for s in analysis.skipped)]


def masked(text: str) -> str:
    """What becomes of the names in a finding: addresses, and the interface of the fixture."""
    return re.sub(r"\bc0\b", MASK.name("c0"), MASK.text(text))


@pytest.mark.parametrize("run", RUNS)
def test_a_copy_has_the_findings_of_its_original(run: str, fixtures: Path, tmp_path: Path) -> None:
    originals = [fixtures / path for path in RUNS[run]]
    copies = copied(originals, tmp_path / "shared")
    expected = findings([str(path) for path in originals], masked)
    assert findings(copies) == expected
    assert len(expected) > 0


def test_logs_and_host_files_beside_a_capture_come_along(fixtures: Path, tmp_path: Path) -> None:
    copied([fixtures / "dctcp/dctcp.pcapng.xz"], tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"dctcp.pcapng.xz", "dctcp.kernel.ndjson.zst", "dctcp.host.json"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_the_same_key_gives_the_same_bytes_and_another_key_others(
    tmp_path: Path, fixtures: Path
) -> None:
    source = [fixtures / "dctcp/dctcp.pcapng.xz"]
    one, same, other = (tmp_path / name for name in ("one", "same", "other"))
    for folder, mask in ((one, MASK), (same, Mask(KEY)), (other, Mask(KEY[::-1]))):
        copied(source, folder, mask)
    for path in one.iterdir():
        assert path.read_bytes() == (same / path.name).read_bytes()
        assert path.read_bytes() != (other / path.name).read_bytes()


@pytest.mark.parametrize("magic", [files.MICROSECONDS, files.NANOSECONDS, files.MODIFIED])
@pytest.mark.parametrize("order", ["<", ">"])
def test_times_and_lengths_stay(magic: int, order: str, tmp_path: Path) -> None:
    frames = [bytes(12) + b"\x08\x06" + bytes(28), bytes(60)]
    path = tmp_path / "run.pcap"
    path.write_bytes(files.pcap(frames, magic=magic, order=order, snaplen=50))
    (copy,) = copied([path], tmp_path / "out")
    before, after = (pl.DataFrame(_native.track([p])["sources"]) for p in (str(path), copy))
    same = [name for name in before.columns if name not in ("path", "bytes")]
    assert after.select(same).rows() == before.select(same).rows()


@pytest.mark.needs("tshark")
def test_wireshark_finds_no_wrong_checksum(fixtures: Path, tmp_path: Path) -> None:
    (copy,) = copied([fixtures / "accecn-bleached/sender.pcap.xz"], tmp_path)
    plain = tmp_path / "plain.pcap"
    plain.write_bytes(b"".join(_native.read_text(copy)))
    checks = ["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE"]
    fields = ["-e", "ip.checksum.status", "-e", "tcp.checksum.status", "-e", "tcp.len"]
    command = ["tshark", "-r", str(plain), "-c", "400", *checks, "-T", "fields", *fields]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    good, unverified = "1", "2"
    assert {ip for ip, _, _ in rows} == {good}
    assert {tcp for _, tcp, length in rows if length == "0"} == {good}
    # The payload is gone, and its packets count as cut.
    assert {tcp for _, tcp, length in rows if length != "0"} == {unverified}


def pcapng(*blocks: bytes) -> bytes:
    return files.section() + files.interface(options=files.option(9, b"\x09")) + b"".join(blocks)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (pcapng(files.enhanced(bytes(60), 10**9))[:-9], "truncated_file"),
        (pcapng(files.block(6, bytes(20)))[:-4] + b"\xff" * 40, "damaged_file"),
        (pcapng(files.enhanced(bytes(60), 10**9, number=7)), "damaged_file"),
        (pcapng(files.block(3, b"\x3c\0\0\0" + bytes(60))), "no_timestamp"),
        (pcapng(files.enhanced(bytes(60), 0, options=files.option(4, b"\5" + bytes(7)))),
         "capture_drops"),
        (files.pcap([bytes(60)] * 2)[:-3], "truncated_file"),
        (files.pcap([bytes(60)]) + b"\0" * 40, "damaged_file"),
        (files.pcap([bytes(60)], link_type=147), "unknown_link_type"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_capture_is_wrong_with_its_copy(
    content: bytes, what: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.pcap"
    path.write_bytes(content)
    (copy,) = copied([path], tmp_path / "out")
    before, after = (
        pl.DataFrame(_native.track([p])["stats"]).select("name", "count").rows()
        for p in (str(path), copy)
    )
    assert after == before
    assert what in [name for name, _ in after]


def test_a_log_that_breaks_off_has_a_copy_that_breaks_off(fixtures: Path, tmp_path: Path) -> None:
    whole = (fixtures / "accecn-clean/sender.kernel.ndjson.zst").read_bytes()
    path = tmp_path / "cut.kernel.ndjson.zst"
    path.write_bytes(whole[: len(whole) // 2])
    (copy,) = copied([path], tmp_path / "out")
    before, after = (
        l4strace.open(p).evidence.stats.select("name", "count").rows() for p in (str(path), copy)
    )
    assert after == before


def test_what_cannot_be_redacted_has_no_copy(tmp_path: Path) -> None:
    (tmp_path / "run.pcap").write_bytes(files.pcap([bytes(60)]))
    (tmp_path / "run.ss.txt").write_text("minutes of a meeting of Ann's\n")
    (tmp_path / "page.html").write_text('<meta name="generator" content="l4strace 1">')
    inputs = [str(tmp_path / name) for name in ("run.pcap", "page.html")]
    copies = redact(inputs, Folder(str(tmp_path / "out")), MASK)
    assert [(copy.name, bool(copy.left_out), copy.beside) for copy in copies] == [
        ("run.pcap", False, False),
        ("run.ss.txt", True, True),
        ("page.html", True, False),
    ]
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["run.pcap"]


def test_a_dialect_that_nobody_taught_redact_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("l4strace.redact.run.BY_LINE", {})
    log = tmp_path / "run.ss.txt"
    log.write_text("# t=1795252715.25\nESTAB 0 0 10.0.1.2:1 10.0.3.2:2\n")
    (copy,) = redact([str(log)], Folder(str(tmp_path / "out")), MASK)
    assert "does not know" in copy.left_out
    assert list((tmp_path / "out").iterdir()) == []


def test_nothing_is_replaced_and_no_link_is_followed(tmp_path: Path) -> None:
    source = tmp_path / "run.pcap"
    source.write_bytes(files.pcap([bytes(60)]))
    victim = tmp_path / "victim"
    for name, make in (("file", "write_text"), ("link", "symlink_to"), ("hanging", "symlink_to")):
        folder = tmp_path / name
        folder.mkdir()
        getattr(folder / "run.pcap", make)(str(victim))
        if name == "link":
            victim.write_text("kept")
        with pytest.raises(UsageError, match="exists"):
            redact([str(source)], Folder(str(folder)), MASK)
    (tmp_path / "elsewhere").symlink_to(tmp_path)
    with pytest.raises(UsageError):
        Folder(str(tmp_path / "elsewhere"))
    with pytest.raises(UsageError, match="two inputs"):
        redact(
            [str(source), str(tmp_path / "file" / "run.pcap")], Folder(str(tmp_path / "o")), MASK
        )
    assert victim.read_text() == "kept"


def interrupted(folder: Folder, error: Exception) -> None:
    with folder.new("run.pcap") as file:
        file.write(b"half")
        raise error


def test_a_full_disk_leaves_no_part_of_a_copy(tmp_path: Path) -> None:
    folder = Folder(str(tmp_path / "out"))
    full = OSError(28, "No space left on device")
    for error, seen in ((full, OutputError), (InputError("breaks off"), InputError)):
        with pytest.raises(seen):
            interrupted(folder, error)
    assert list((tmp_path / "out").iterdir()) == []


def test_addresses_in_text() -> None:
    for text in (
        "at 10.0.1.2.",
        "10.0.1.2:80 > 10.0.3.2:443",
        "fe80::1%eth0 and fd00::a00:102",
        "[2001:db8::1]:80",
        "::ffff:10.0.1.2",
        "to aa:bb:cc:dd:ee:f1, from AA-BB-CC-DD-EE-F1",
    ):
        hidden = MASK.text(text)
        assert not re.search(r"10\.0\.|eth0|a00:102|2001:db8|bb:cc|BB-CC", hidden), hidden
    assert MASK.text("t=5.2 s, 12:30:45, 1.5.2, 0.4 ms") == "t=5.2 s, 12:30:45, 1.5.2, 0.4 ms"
    assert MASK.address("::ffff:10.0.1.2") == f"::ffff:{MASK.address('10.0.1.2')}"
    assert MASK.socket("0xffff8881") == f"0x{MASK.socket('ffff8881')}"


def test_numbers_of_a_damaged_poll_stay_as_a_reader_takes_them() -> None:
    line = b"\t prague rto:211 cwnd:12\x1b3 rtt:0.5/0.1 busy:9ms(1.5%) lost:10.0.1.2 mss:True\n"
    (copy,) = redact_ss.redacted([line], Mask(bytes(32)))
    assert copy == b"\t prague rto:211 cwnd:12? rtt:0.5/0.1 busy:9ms(1.5%) lost:? mss:?\n"


def test_a_key_is_a_file_or_a_text(tmp_path: Path) -> None:
    path = tmp_path / "secret.key"
    path.write_bytes(b"of 32 bytes or so")
    assert masks.key(str(path)) == masks.key("of 32 bytes or so") != masks.key("")
    path.write_bytes(b"")
    with pytest.raises(UsageError, match="empty"):
        masks.key(str(path))
    with pytest.raises(UsageError):
        masks.key(str(tmp_path))


def test_names_of_kernels() -> None:
    assert words.release("5.15.72-56b31b47c-prague-91") == "5.15.72-prague"
    assert words.release("6.18.0-rc3-acme-corp+") == "6.18.0-rc3"
    assert words.release("acme") == "unknown"
    assert words.release("10.0.3.2") == "unknown"


def test_keys_are_left_out_and_secrets_in_a_capture_removed(tmp_path: Path, fixtures: Path) -> None:
    log = fixtures / "user-space" / "qk-a.keys"
    secrets = log.read_bytes()
    body = struct.pack("<II", 0x544C534B, len(secrets)) + secrets
    (capture := tmp_path / "run.pcapng").write_bytes(
        files.section() + files.block(10, body) + files.interface() + files.enhanced(b"\0" * 60, 1)
    )
    (tmp_path / "run.keys").write_bytes(secrets)
    copies = redact([str(capture), str(log)], Folder(str(tmp_path / "shared")), MASK)
    left_out = {copy.name: copy.beside for copy in copies if copy.left_out}
    assert left_out == {"qk-a.keys": False, "run.keys": True}
    assert [path.name for path in (tmp_path / "shared").iterdir()] == ["run.pcapng"]
    shared = (tmp_path / "shared" / "run.pcapng").read_bytes()
    assert not any(word in shared for word in secrets.split())
