"""The collector of tracepoints says once why it cannot run."""

from __future__ import annotations

import errno
import json
import os

import pytest

from kernel import tracefs, tracing


def test_what_is_missing_is_said_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """`record` puts "no tracefs: " before it."""

    def refuse() -> str:
        raise OSError(errno.EPERM, "cannot mount tracefs")

    monkeypatch.setattr(tracing, "folder", refuse)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(SystemExit) as ended:
        tracefs.main([])
    assert ended.value.code == 4
    said = json.loads(capfd.readouterr().err)
    assert said["cannot"] == "cannot mount tracefs: Operation not permitted"
    assert said["remedy"] == "run with sudo"
