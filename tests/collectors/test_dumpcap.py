"""What is reported of how dumpcap ended."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from packets import dumpcap


@pytest.mark.parametrize(
    ("lines", "ended"),
    [
        (
            [
                "dumpcap: cap_set_proc() fail return: Operation not permitted",
                "dumpcap: cap_set_proc() fail return: Operation not permitted",
                'dumpcap: You do not have permission to capture on device "lo". (socket: refused)',
                "On Debian and Debian derivatives such as Ubuntu, ...",
            ],
            'dumpcap: You do not have permission to capture on device "lo"',
        ),
        (["dumpcap: no space left", "dumpcap: no space left"], "dumpcap: no space left"),
        ([], "dumpcap ended by itself"),
    ],
)
def test_a_message_is_reported_once_and_without_advice(lines: list[str], ended: str):
    process = SimpleNamespace(returncode=1)
    output = SimpleNamespace(lines=lambda: lines, packets=0)
    arguments = SimpleNamespace(count=None, ring=None)
    assert dumpcap.result(process, output, "", arguments)["ended"] == ended
