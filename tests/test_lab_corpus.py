"""The corpus' own parts: scenarios, scripts, the kernel log of its Prague, truth from packets."""

from __future__ import annotations

import importlib
import json
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from l4strace.ingest.logs import kernel_log
from tests.support.places import FIXTURES

VM = FIXTURES / "lab" / "vm"
SECOND = 1_000_000_000
CLIENT, SERVER = "10.0.1.2", "10.0.3.2"


@pytest.fixture(scope="module", autouse=True)
def path() -> Iterator[None]:
    sys.path.insert(0, str(VM))
    yield
    sys.path.remove(str(VM))


def load(name: str) -> ModuleType:
    return importlib.import_module(name)


def test_a_scenario_is_the_same_for_ever() -> None:
    one = load("scenario").draw(1, 2)
    assert (one.name, one.rate_kbit, one.rtt_ms, one.seconds) == ("s1-002", 22_700, 41.5, 9.9)
    assert one.queue.command == "dualpi2 step_thresh 2000us"
    assert one.changes == ((4.9, 4093), (8.4, 22_700))


def test_scenarios_stay_within_the_ranges_and_differ() -> None:
    drawn = [load("scenario").draw(seed, number) for seed in (1, 101) for number in range(150)]
    assert all(2_000 <= one.rate_kbit <= 200_000 and 2 <= one.rtt_ms <= 200 for one in drawn)
    assert all(6 <= one.seconds <= 12 and 1 <= len(one.flows) <= 8 for one in drawn)
    assert {one.build for one in drawn} == set(load("scenario").BUILD_WEIGHTS)
    assert {one.fallback for one in drawn} == {0, 1, 2}
    noises = {"none", "jitter", "jitter_reordering", "slots", "ack_jitter", "reordering", "loss"}
    assert {one.noise for one in drawn} == noises


def test_every_script_is_one_for_a_shell() -> None:
    for number in range(60):
        text = load("script").text(load("scenario").draw(3, number))
        done = subprocess.run(["sh", "-n"], input=text, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr


def test_flows_have_ports_of_their_own() -> None:
    for number in range(60):
        flows = load("scenario").draw(4, number).flows
        assert len({flow.dport for flow in flows}) == len(flows)
        assert all((flow.cc == "prague") == load("script").is_prague(flow) for flow in flows)


def event(**values: int) -> bytes:
    log = load("prague_log")
    given = dict.fromkeys(log.NAMES, 0) | values
    return bytes(log.RECORD.pack(*(given[name] for name in log.NAMES)))


def written(folder: Path, events: list[bytes], **numbers: int) -> Path:
    header = {"event_bytes": 160, "kernel": "7.2.12", "machine": "x86_64"}
    header |= {"unix_offset_ns": 5 * SECOND, "uncertainty_ns": 80, **numbers}
    head = "".join(f"{name}={value}\n" for name, value in header.items())
    path = folder / "prague.bin"
    path.write_bytes(head.encode() + b"\n" + b"".join(events))
    return path


def test_events_become_a_log_that_the_strict_reader_accepts(tmp_path: Path) -> None:
    local, remote = (
        struct.unpack("<I", bytes(map(int, a.split("."))))[0] for a in (CLIENT, SERVER)
    )
    common = {"sk": 0xFFFF, "saddr": local, "daddr": remote, "sport": 40001, "dport": 5201}
    events = [
        event(ts_ns=20, kind=2, classic_ecn_raw=9 << 24, g_srtt_shift=7, saw_ce=1, **common),
        event(ts_ns=10, kind=4, value=123, min_rtt_us=2**32 - 1, ssthresh=2**31 - 1, **common),
    ]
    target = tmp_path / "x.kernel.ndjson"
    load("prague_log").convert(written(tmp_path, events, alpha_bits=24), target, 3)
    assert kernel_log.check(str(target)) == []
    header, first, second, trailer = map(json.loads, target.read_text().splitlines())
    assert header["layout"]["alpha_bits"] == 24
    assert (first["event"], first["alpha_used_raw"], "min_rtt_us" in first) == (
        "fallback",
        123,
        False,
    )
    assert "ssthresh" not in first
    assert (second["saddr"], second["daddr"], second["g_mdev_shift"]) == (CLIENT, SERVER, 8)
    assert trailer["lost"] == {"ring": 3}


def test_a_build_without_detector_logs_no_score(tmp_path: Path) -> None:
    target = tmp_path / "x.kernel.ndjson"
    events = [event(ts_ns=1, kind=1, sk=1)]
    load("prague_log").convert(written(tmp_path, events, alpha_bits=24, detector=0), target)
    sample = json.loads(target.read_text().splitlines()[1])
    assert not [name for name in sample if "classic_ecn" in name or "pace_raw" in name]


def test_python_reads_the_structure_that_c_writes(tmp_path: Path) -> None:
    wide, narrow = "unsigned long long", "unsigned char"
    source = tmp_path / "size.c"
    source.write_text(
        '#include <stdio.h>\n#include <stddef.h>\n#include "event.h"\nint main(void) {'
        'printf("%zu %zu %zu %zu\\n", sizeof(struct event), offsetof(struct event, classic_ecn),'
        "offsetof(struct event, kind), offsetof(struct event, srtt_shift)); return 0; }\n"
    )
    program = tmp_path / "size"
    subprocess.run(["cc", "-I", VM / "prague", "-o", program, source], check=True)
    said = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    log = load("prague_log")
    sizes = [8] * 9 + [4] * 20 + [2] * 2 + [1] * 4
    offsets = {name: sum(sizes[:at]) for at, name in enumerate(log.NAMES)}
    wanted = (log.RECORD.size, offsets["classic_ecn_raw"], offsets["kind"], offsets["g_srtt_shift"])
    assert tuple(map(int, said.split())) == wanted, (wide, narrow)


def frame(seq: int, ecn: int, ip_id: int, payload: int = 1000) -> bytes:
    ip = struct.pack("!BBHHHBBH8s", 0x45, ecn, 40 + payload, ip_id, 0, 64, 6, 0, bytes(8))
    tcp = struct.pack("!HHIIHHHH", 40001, 5201, seq, 0, 5 << 12 | 0x10, 100, 0, 0)
    return bytes(14) + ip + tcp


def capture(path: Path, packets: list[tuple[int, bytes]]) -> Path:
    """(time in us, frame), cut after the headers as with a small snaplen."""
    out = [struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 128, 1)]
    for us, data in packets:
        ns = us * 1000
        out.append(struct.pack("<IIII", ns // SECOND, ns % SECOND, len(data), len(data)) + data)
    path.write_bytes(b"".join(out))
    return path


def journey(folder: Path) -> list[Any]:
    """Four packets: one passes, one is marked after 3 ms, one dropped, one overtaken behind."""
    sent = [(n * 1000, frame(n * 1000, 1, n)) for n in range(4)]
    queued = [(0, frame(0, 1, 0)), (4000, frame(1000, 3, 1)), (4001, frame(3000, 1, 3))]
    arrived = [(9000, frame(0, 1, 0)), (13_001, frame(3000, 1, 3)), (14_000, frame(1000, 3, 1))]
    sides = {"sender": sent, "router": queued, "receiver": arrived}
    files = [capture(folder / f"{side}.pcap", packets) for side, packets in sides.items()]
    return list(load("passages").passages(*files))


def test_truth_comes_from_matched_packets(tmp_path: Path) -> None:
    journeys, observed = journey(tmp_path), load("observed")
    assert observed.marking(journeys)["first"]["ect1"]["p50"] == 3.0
    second = observed.seconds(journeys, 0, SECOND)[0]
    assert (second["dropped"], second["marked_ect1"], second["lost_behind"]) == (1, 1, 0)
    assert observed.codepoints(journeys)["to_receiver"] == {"ect1>ect1": 2, "ect1>ce": 1}
    assert (observed.reordering(journeys)["late"], observed.reordering(journeys)["packets"]) == (
        1,
        3,
    )
    assert observed.one_way(journeys, 0)["5201"] == [4.0]


def test_only_the_run_that_held_the_machine_up_counts_as_tried(tmp_path: Path) -> None:
    corpus, draw = load("corpus"), load("scenario").draw
    left = [draw(1, number) for number in range(3)]
    assert [corpus.is_culprit(one, left, tmp_path) for one in left] == [True, False, False]
    (tmp_path / "failed" / left[2].name).mkdir(parents=True)
    assert corpus.is_culprit(left[2], left, tmp_path)


def test_a_corpus_goes_on_where_it_was(tmp_path: Path) -> None:
    corpus = load("corpus")
    (tmp_path / "s1-001").mkdir()
    (tmp_path / "s1-001" / "truth.json").write_text("{}")
    names = [one.name for one in corpus.pending(1, range(3), tmp_path)]
    assert names == ["s1-000", "s1-002"]
    assert corpus.pending(0, range(2), tmp_path)[0].queue.name == "dualpi2"
