"""The last lines of `capture`: what reached the disk, what was lost, and the exit code."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from l4strace.capture import summary
from l4strace.capture.messages import EMPTY
from l4strace.core import _native


def recorded(**changed: Any) -> dict[str, Any]:
    packets = {"packets": 64_088, "interfaces": {"c0": {"received": 144_761, "dropped": 80_673}}}
    return EMPTY | {
        "ended": "exit",
        "seconds": 6.04,
        "packets": packets,
        "kernel": {"source": "bcc", "events": 5771, "lost": 0, "lost_at": {}},
        **changed,
    }


def test_drops_are_said_with_the_buffer_that_they_came_from() -> None:
    lines = summary.render(recorded()).splitlines()
    assert lines[0] == "recorded 6.0 s: the command ended"
    assert lines[1] == "packets: 64,088 written, 80,673 dropped"
    assert "--buffer" in lines[2]
    assert lines[3] == "kernel state: 5,771 samples by bcc, 0 lost"


def test_what_was_interrupted_before_it_recorded_is_no_success() -> None:
    early = recorded(ended="signal", files={"run.host.json": 3600})
    assert summary.inputs(early) == []
    assert summary.exit_code(early) == 130
    assert summary.exit_code(recorded(ended="signal", files={"run.pcapng": 9})) == 0


@pytest.mark.parametrize(
    ("counts", "line"),
    [
        ({"packets": 3, "seen": 20}, "packets: 3 written, the last of 20, 0 dropped"),
        ({"packets": 20, "seen": 20}, "packets: 20 written, 0 dropped"),
        ({"seen": 9_000_000}, "packets: the last 512.0 MB of 9,000,000, 0 dropped"),
    ],
)
def test_a_ring_says_what_it_holds(counts: dict[str, int], line: str) -> None:
    packets = {"interfaces": {"eth0": {"dropped": 0}}, "bytes": 512_000_000, **counts}
    assert line in summary.render(recorded(packets=packets)).splitlines()


def test_losses_are_said_by_place_each_with_its_own_remedy() -> None:
    kernel = {"source": "bcc", "events": 5, "lost": 6, "lost_at": {"ring": 1, "late_polls": 5}}
    text = summary.render(recorded(kernel=kernel))
    assert "5 samples by bcc, 6 lost" in text
    assert "1 ring buffer full: raise --kernel-buffer" in text
    assert "5 polls came late: poll less often: --interval" in text


def test_notes_and_failures_stand_in_the_last_lines() -> None:
    text = summary.render(
        recorded(
            notes=["bcc: struct prague matches no known layout"],
            died={"kernel log": "No space left on device"},
            kernel={"source": "bcc", "events": 90, "packed": {"lines": 42, "bytes": 9}},
        )
    )
    assert "note: bcc: struct prague matches no known layout" in text
    assert "kernel log failed: No space left on device" in text
    assert "42 lines of the log reached the disk" in text


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({}, 0),
        ({"command_exit": 7}, 7),
        ({"command_exit": -15}, 143),
        ({"died": {"bcc": "x"}}, 1),
        ({"died": {"bcc": "x"}, "command_exit": 3}, 3),
        ({"ended": "command"}, 1),
    ],
)
def test_the_exit_code_is_the_commands(changed: dict[str, Any], code: int) -> None:
    assert summary.exit_code(recorded(**changed)) == code


def test_without_packets_the_log_is_what_diagnose_gets() -> None:
    files = {"a/run.host.json": 1, "a/run.kernel.ndjson.zst": 2}
    assert [str(p) for p in summary.inputs({"files": files})] == ["a/run.kernel.ndjson.zst"]
    files["a/run.pcapng"] = 3
    assert [str(p) for p in summary.inputs({"files": files})] == ["a/run.pcapng"]


@pytest.mark.parametrize("name", ["run.kernel.ndjson", "run.kernel.ndjson.gz"])
def test_a_log_of_a_host_without_zstd_is_packed_here(tmp_path: Path, name: str) -> None:
    text = b'{"type": "header"}\n' * 9000
    log, packed = tmp_path / name, tmp_path / "run.kernel.ndjson.zst"
    log.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    files = summary.packed(recorded(files={str(log): 5}))["files"]
    assert files == {str(packed): packed.stat().st_size}
    assert list(tmp_path.iterdir()) == [packed]
    assert b"".join(_native.read_text(str(packed))) == text
    assert packed.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("planted", ["run.kernel.ndjson", "run.kernel.ndjson.zst"])
def test_packing_goes_through_no_link(tmp_path: Path, planted: str) -> None:
    other, log = tmp_path / "other", tmp_path / "run.kernel.ndjson"
    other.write_text("precious")
    log.write_text("{}")
    (tmp_path / planted).unlink(missing_ok=True)
    (tmp_path / planted).symlink_to(other)
    assert summary.packed(recorded(files={str(log): 2}))["files"] == {str(log): 2}
    assert other.read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"other", log.name, planted})


def test_a_log_that_cannot_be_read_to_its_end_stays_as_it_was(tmp_path: Path) -> None:
    log = tmp_path / "run.kernel.ndjson.gz"
    log.write_bytes(gzip.compress(b"{}" * 100_000)[:-20])
    assert summary.packed(recorded(files={str(log): 2}))["files"] == {str(log): 2}
    assert list(tmp_path.iterdir()) == [log]
