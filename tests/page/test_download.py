"""Evidence packets as a reader gets them: on a phone, and saved as a file that Wireshark opens."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from l4strace import Run
from l4strace import open as open_run
from tests.support import chromium
from tests.support.places import FIXTURES


@pytest.fixture(scope="module")
def run() -> Run:
    return open_run(str(FIXTURES / "accecn-bleached/sender.pcap.xz"))


@pytest.fixture(scope="module")
def browser(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Chromium]:
    page = tmp_path_factory.mktemp("page") / "run.html"
    page.write_text(run.page(), encoding="utf-8")
    with chromium.Chromium() as running:
        running.load(page)
        yield running


def test_what_a_packet_shows_can_be_read_on_a_phone(browser: chromium.Chromium) -> None:
    """The table scrolls sideways, rather than to give each word a line of its own."""
    browser.size(360)
    widths = browser.evaluate(
        "[...document.querySelectorAll('#packets ~ details[open] tbody tr')]"
        ".map(row => row.lastElementChild.offsetWidth)"
    )
    browser.size(1280)
    assert widths
    assert min(widths) > 200


@pytest.mark.needs("tshark")
def test_a_click_saves_a_capture_that_wireshark_opens(
    browser: chromium.Chromium, run: Run, tmp_path: Path
) -> None:
    browser.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.evaluate("document.querySelector('#packets ~ .note a[download]').click()")
    saved = browser.downloaded(tmp_path / "sender-evidence.pcapng")
    assert not browser.complaints
    command = ["tshark", "-n", "-r", str(saved), "-T", "fields", "-e", "frame.comment"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    frames = run.findings.explode("frames")["frames"].drop_nulls().unique()
    assert frames.len() > 0
    for frame in frames:
        assert any(line.startswith(f"frame {frame} of sender.pcap.xz: ") for line in shown)
