"""The filter of a run: its ports, and the ssh session that it runs in."""

from __future__ import annotations

import pytest

from run import filters

SESSION = {"SSH_CONNECTION": "192.0.2.7 51234 192.0.2.9 22"}
OWN = "not (tcp port 51234 and tcp port 22)"


@pytest.mark.parametrize(
    ("text", "backend", "environment", "expected"),
    [
        ("", "dumpcap", SESSION, OWN),
        ("tcp port 80 or port 81", "tcpdump", SESSION, f"(tcp port 80 or port 81) and {OWN}"),
        ("tcp", "ring", SESSION, "tcp"),
        ("tcp", "dumpcap", {"SSH_CONNECTION": ""}, "tcp"),
        ("tcp", "dumpcap", {"SSH_CONNECTION": "a b) or (tcp c d"}, "tcp"),
    ],
)
def test_our_own_session_stays_out(
    text: str, backend: str, environment: dict[str, str], expected: str
) -> None:
    assert filters.without_own_session(text, backend, environment) == expected


def test_ports_are_taken_from_what_the_user_wrote() -> None:
    assert filters.ports_of("tcp port 80 or port 443") == [80, 443]
    assert filters.ports_of("not port 22") == []
