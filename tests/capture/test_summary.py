"""The last lines of `capture`: what reached the disk, what was lost, and the exit code."""

from __future__ import annotations

from typing import Any

import pytest

from l4strace.capture import summary
from l4strace.capture.messages import EMPTY


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
