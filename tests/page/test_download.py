"""The excerpt as a reader gets it: a click in a real browser, and Wireshark opens the file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from l4strace import open as open_run
from tests.support import chromium
from tests.support.places import FIXTURES


@pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")
def test_a_click_saves_a_capture_that_wireshark_opens(tmp_path: Path) -> None:
    binary = chromium.find()
    if binary is None:
        pytest.skip("no chromium on this machine")
    run = open_run(str(FIXTURES / "accecn-bleached/sender.pcap.xz"))
    page = tmp_path / "run.html"
    page.write_text(run.page(), encoding="utf-8")
    with chromium.Chromium(binary) as browser:
        browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        browser.load(page)
        browser.evaluate("document.querySelector('#packets ~ .note a[download]').click()")
        saved = browser.downloaded(tmp_path / "sender-evidence.pcapng")
        assert not browser.complaints
    command = ["tshark", "-n", "-r", str(saved), "-T", "fields", "-e", "frame.comment"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    frames = run.findings.explode("frames")["frames"].drop_nulls().unique()
    assert frames.len() > 0
    for frame in frames:
        assert any(line.startswith(f"frame {frame} of sender.pcap.xz: ") for line in shown)
