"""The edge of each dialect: bad records are counted, the rest is analyzed, nothing grows."""

from __future__ import annotations

import json
import lzma
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from l4strace.errors import InputError
from l4strace.ingest import host_file, load, untrusted
from l4strace.ingest.logs import open_log
from l4strace.schema.words import Stat
from tests.support.hostile.logs import FIELDS, START_NS
from tests.support.hostile.texts import nested

HEADER: dict[str, Any] = {
    "type": "header", "format": "l4strace-kernel-log", "version": 1, "collector": "x",
    "kernel": "6", "command": [], "fields": FIELDS,
    "clock": {"id": "monotonic", "unix_offset_ns": START_NS, "uncertainty_ns": 9},
}  # fmt: skip
SAMPLE = {"type": "sample", "ts_ns": 5, "event": "ack", "sk": "1", "sport": 1, "dport": 2}
MEMORY = 1 << 30


def own_log(folder: Path, *records: Any, header: dict[str, Any] | None = None) -> str:
    path = folder / "x.kernel.ndjson"
    lines = [json.dumps(record) for record in (header or HEADER, *records)]
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def bad(log) -> int:
    return sum(count for name, count, *_ in log.stats if name == Stat.LINES_UNREAD)


@pytest.mark.parametrize(
    "change",
    [
        {"ts_ns": "five"}, {"ts_ns": 2**63}, {"ts_ns": 2**62}, {"ts_ns": -(2**62)},
        {"ts_ns": [5]}, {"snd_cwnd": "many"}, {"snd_cwnd": [1]}, {"snd_cwnd": 10**400},
        {"srtt_us": True}, {"upscaled_alpha": -1}, {"snd_cwnd": {"a": 1}},
        {"srtt_us": float("inf")}, {"srtt_us": -5.0}, {"g_srtt_shift": 200},
        {"mdev_pace_raw": 2**63},
    ],
    ids=lambda change: f"{next(iter(change))} {str(next(iter(change.values())))[:12]}",
)  # fmt: skip
def test_a_bad_record_is_counted_and_the_rest_stays(tmp_path: Path, change: dict[str, Any]):
    log = open_log.read(own_log(tmp_path, SAMPLE, SAMPLE | change, SAMPLE))
    assert log.samples.height - 2 in (0, 1)
    assert bad(log) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"layout": {"alpha_bits": 3e10}}, {"layout": {"alpha_bits": 30_000_000_000}},
        {"layout": [1]}, {"clock": 7}, {"clock": {"id": [1], "unix_offset_ns": 2**70}},
        {"fields": ["a"]}, {"fields": FIELDS | {"ts_ns": "str", "x": [1]}},
        {"command": nested(9, True)},
        {"fields": {f"f{i}": "u8" for i in range(5000)} | FIELDS},
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_header_is_no_crash(tmp_path: Path, change: dict[str, Any]):
    log = open_log.read(own_log(tmp_path, SAMPLE, header=HEADER | change))
    assert log.alpha_bits is None
    assert log.samples.height == 1
    assert len(log.samples["extra"][0] or "") < 1000


@pytest.mark.parametrize(
    "trailer",
    [
        {"events": [1]}, {"events": {"ack": "1"}}, {"lost": {"ring": [1]}}, {"lost": 5},
        {"lost": {"ring": 2**70}}, {"clock": [1]}, {"clock": {"unix_offset_ns": 2**64}},
    ],
    ids=str,
)  # fmt: skip
def test_a_bad_trailer_is_no_crash(tmp_path: Path, trailer: dict[str, Any]):
    log = open_log.read(own_log(tmp_path, SAMPLE, {"type": "trailer"} | trailer))
    assert (log.complete, log.samples.height) == (True, 1)


def test_nothing_left_is_refused_in_one_line(tmp_path: Path):
    with pytest.raises(InputError, match="2 records, and none can be read"):
        open_log.read(own_log(tmp_path, SAMPLE | {"ts_ns": "x"}, SAMPLE | {"ts_ns": 2**63}))


def test_a_lone_surrogate_and_a_line_end_in_an_address(tmp_path: Path):
    address = {"saddr": "x\nFAKE \x1b[31m", "daddr": "\ud800y", "cc": "c" * 9999}
    row = open_log.read(own_log(tmp_path, SAMPLE | address)).samples.row(0, named=True)
    assert row["saddr"] == "x?FAKE ?[31m"
    assert row["daddr"].endswith("y")
    assert row["daddr"].isprintable()
    assert len(row["cc"]) == untrusted.MOST_TEXT


def test_deep_json_is_a_value_error():
    for text in ("[" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000, "9" * 9999):
        with pytest.raises(ValueError, match=r".+"):
            untrusted.parsed(text)
    assert untrusted.parsed('[1e999, 99999999999999999999, "\\ud800"]') == [None, None, "?"]


def test_flent_with_odd_values(tmp_path: Path):
    polls = [{"t": t, "tcp_cwnd": c} for t, c in ((1e9, "x"), ("y", 5), (1e300, 5), (2e9, 1e999))]
    document = {
        "metadata": {"EGRESS_INFO": [1], "SERIES_META": 5, "HOST": {"a": 1}},
        "raw_values": {"TCP upload": polls, "a": 5, "b": [None, 3]},
    }
    path = tmp_path / "x.flent"
    path.write_text(json.dumps(document))
    log = open_log.read(str(path))
    assert log.samples["ts_ns"].to_list() == [10**18, 2 * 10**18]
    assert bad(log) == 2


def test_bpftrace_with_odd_maps(tmp_path: Path):
    records = [
        {"type": "printf", "data": "nsecs=5 sport=1 dport=2\n"},
        {"type": "map", "data": "no object"},
        {"type": "map", "data": {"@c": nested(200, False)}},
        {"type": "map", "data": {"@d": 1}},
    ]
    path = tmp_path / "x.bpftrace.json"
    path.write_text("\n".join(map(json.dumps, records)))
    log = open_log.read(str(path))
    assert (log.aggregates, log.samples.height, bad(log)) == ({"@d": 1}, 1, 2)


def test_a_host_file_that_is_named_is_read(tmp_path: Path, fixtures: Path, call, sample: Path):
    host = tmp_path / "other.host.json"
    host.write_text(json.dumps({"format": "l4strace-host", "sysctls": {"net.ipv4.tcp_ecn": 0}}))
    assert load.load([str(host)]).host_files[0]["sysctls"] == {"net.ipv4.tcp_ecn": 0}
    # What `diagnose run.*` names after the first run: the page too.
    assert call("diagnose", sample).exit_code == 1
    again = call("diagnose", sample, host, tmp_path / "run.html")
    assert again.exit_code == 1
    assert "no host file" not in again.stdout


def test_a_page_alone_is_refused(call, sample: Path):
    call("diagnose", sample)
    assert "a page of l4strace" in str(call("diagnose", sample.parent / "run.html").exception)


@pytest.mark.parametrize("text", ["[]", "{", "[" * 99999, "{}" * 3, '{"a": 1e', "\x00"])
def test_a_host_file_that_is_none_is_refused(tmp_path: Path, text: str):
    path = tmp_path / "x.host.json"
    path.write_text(text)
    with pytest.raises(InputError, match="not a host file"):
        host_file.read(str(path))


@pytest.mark.parametrize("name", ["run.kernel.ndjson", "run.host.json", "run.trace.txt"])
def test_a_companion_that_nobody_named_is_never_fatal(call, sample: Path, name: str):
    (sample.parent / name).write_bytes(b"\x00 nonsense")
    result = call("diagnose", sample, "--json")
    assert result.exit_code == 1
    assert name in result.stderr
    assert "left out" in result.stderr
    assert Stat.COMPANION_UNREAD in load.load([str(sample)]).stats["name"]
    quiet = call("diagnose", sample, "--json", "--no-companions")
    assert name not in quiet.stderr
    assert isinstance(call("diagnose", sample, sample.parent / name).exception, InputError)


def test_names_that_are_no_utf8(call, sample: Path):
    odd = sample.rename(sample.parent / os.fsdecode(b"odd\xff\n\x1b[31m.pcap.xz"))
    assert call("diagnose", odd).exit_code == 1
    assert r"odd\xff\x0a\x1b[31m.pcap.xz" in call("diagnose", odd, "--no-html").stdout
    page = (sample.parent / os.fsdecode(b"odd\xff\n\x1b[31m.html")).read_text()
    assert r"odd\xff\x0a\x1b[31m.pcap.xz" in page
    document = json.loads(call("flows", odd, "--json").stdout)
    assert document["sources"][0]["path"].endswith(r"odd\xff\x0a\x1b[31m.pcap.xz")
    assert document["sources"][0]["sha256"]
    assert call("export", "packets", odd).stdout.count("\n") > 1000


def peak_of(*words: object) -> tuple[int, int, str]:
    """Exit code, peak memory and standard error of one run, without how far it is."""
    code = (
        "import resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL)\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)\n"
        "sys.exit(done.returncode)"
    )
    command = [sys.executable, "-c", code, sys.executable, "-m", "l4strace", *map(str, words), "-q"]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, int(done.stdout), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["kernel.ndjson", "bpftrace.json", "ss.txt", "trace.txt"])
def test_a_line_of_200_megabytes_is_left_out_in_bounded_memory(tmp_path: Path, ending: str):
    first = {
        "kernel.ndjson": json.dumps(HEADER) + "\n" + json.dumps(SAMPLE) + "\n",
        "bpftrace.json": '{"type": "printf", "data": "nsecs=5 sport=1 dport=2\\n"}\n',
        "ss.txt": "# t=1795252715.2\nESTAB 0 0 10.0.1.2:401 10.0.3.2:5201\n\t cubic rto:1 cwnd:7\n",
        "trace.txt": "# tracer: nop\nx-1 [000] .. 1.000001: ack: sk=0x1 sport=1 dport=2\n",
    }[ending]
    path = tmp_path / f"x.{ending}.xz"
    with lzma.open(path, "wb", preset=0) as file:
        file.write(first.encode())
        for _ in range(200):
            file.write(b'{"type": "' + b"x" * ((1 << 20) - 10))
    code, peak, err = peak_of("diagnose", path, "--no-html")
    assert (code, err) == (0, "")
    assert peak < MEMORY // 2


@pytest.mark.slow
@pytest.mark.parametrize("text", ["[],", "{},", '"x",', "1,"])
def test_a_small_host_file_does_not_grow(tmp_path: Path, text: str):
    path = tmp_path / "x.host.json.xz"
    with lzma.open(path, "wb", preset=0) as file:
        file.write(b'{"format": "l4strace-host", "sockets": [')
        for _ in range(400):
            file.write(text.encode() * ((1 << 20) // len(text)))
        file.write(b"1]}")
    assert path.stat().st_size < 1 << 20
    code, peak, err = peak_of("diagnose", path, "--no-html")
    assert code == 3
    assert err.startswith("error: ")
    assert peak < MEMORY // 2


@pytest.mark.parametrize("megabytes", [100, 250, 400, 550])
def test_under_a_memory_limit_it_is_one_line_and_3(sample: Path, megabytes: int):
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    command = [sys.executable, "-m", "l4strace", "diagnose", str(sample), "--no-html"]
    done = subprocess.run(command, capture_output=True, timeout=120, preexec_fn=limited)
    assert done.returncode in (1, 3)
    if done.returncode == 3:
        text = done.stderr.decode()
        assert "memory" in text
        assert len(text.splitlines()) <= 2


def test_a_run_without_limit_is_done_by_one_process(monkeypatch: pytest.MonkeyPatch):
    from l4strace.commands import memory

    monkeypatch.setattr(memory, "_limit", lambda: None)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"))
    memory.guard()


def test_no_round_with_an_rtt_is_no_crash(tmp_path: Path, call):
    # Data and no acknowledgement at all.
    from tests.support.files import RAW_IP, timed_pcap
    from tests.support.hostile.captures import segment

    packets = [
        (START_NS + i * 1_000_000, segment(True, 1 + i * 100, 1, 0x10, 100, 1, 0))
        for i in range(500)
    ]
    path = tmp_path / "x.pcap"
    path.write_bytes(timed_pcap(packets, RAW_IP))
    assert load.load([str(path)]).rounds["rtt_mean_us"].null_count() > 0
    for kind in ("text", "json", "markdown", "sarif", "junit"):
        page = ("-o", tmp_path / "x.html", "--force")
        assert call("diagnose", path, "--format", kind, *page).exit_code in (0, 1)
