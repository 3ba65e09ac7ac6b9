"""Connections without data beyond the limit."""

from l4strace.rules.l4s012_connections_without_data import check
from tests.support.frames import evidence, frame


def test_fires_with_their_number():
    stats = frame("stats", name="flows_folded", count=98_304, severity="loss")
    (found,) = check(evidence(stats=stats))
    assert "98,304 connections" in found.message


def test_silent_on_other_stats():
    stats = frame("stats", name="not_tcp", count=5, severity="info")
    assert check(evidence(stats=stats)) == []
