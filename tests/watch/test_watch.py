"""The live view: growing captures, sparklines, and the screen itself on a terminal."""

from __future__ import annotations

import json
import lzma
import os
import pty
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from l4strace.core import _native
from l4strace.watch import view
from l4strace.watch.kernel_tail import KernelTail
from l4strace.watch.lanes import Lane, Lanes
from l4strace.watch.order import ORDERS, Order
from tests.support.network import PORT, network
from tests.support.processes import PATIENCE_SECONDS, wait_until

SAMPLE = "accecn-clean/sender.pcap.xz"


def test_a_growing_capture_gives_what_the_whole_one_gives(tmp_path: Path, fixtures: Path) -> None:
    data = lzma.decompress((fixtures / SAMPLE).read_bytes())
    path, whole = tmp_path / "grows.pcap", tmp_path / "whole.pcap"
    whole.write_bytes(data)
    path.write_bytes(b"")
    follower = _native.Follower(str(path))
    rounds = []
    for end in range(0, len(data) + 9_999, 9_999):
        path.write_bytes(data[:end])
        tables = follower.poll()
        rounds.append(pl.DataFrame(tables["rounds"]))
    expected = {name: pl.DataFrame(t) for name, t in _native.track([str(whole)]).items()}
    assert pl.DataFrame(tables["directions"])["packets"].to_list() == (
        expected["directions"]["packets"].to_list()
    )
    seen = pl.concat(rounds).sort("flow", "forward", "round").drop("source")
    last = expected["rounds"].sort("flow", "forward", "round").drop("source")
    # The rounds under way at the end are not over for the follower.
    same = last.join(seen.select("flow", "forward", "round"), on=["flow", "forward", "round"])
    assert seen.height >= last.height - 2 * expected["flows"].height
    assert same.select("ce_best", "acked_packets").equals(seen.select("ce_best", "acked_packets"))


def test_lanes_show_codepoints_and_marks(tmp_path: Path, fixtures: Path) -> None:
    path = tmp_path / "run.pcap"
    path.write_bytes(lzma.decompress((fixtures / SAMPLE).read_bytes()))
    lanes = Lanes(KernelTail(tmp_path / "none"))
    lanes.update(_native.Follower(str(path)).poll(), 1.0)
    (lane,) = lanes.busy()
    assert lane.mode == "AccECN"
    assert lane.may_be_prague
    assert lane.mix["ect1"] > 0
    assert lane.ce_share is not None
    assert 0 < lane.ce_share < 1
    assert lane.alpha_source == "packets"


def test_kernel_state_is_read_from_the_end_of_a_growing_log(tmp_path: Path) -> None:
    path = tmp_path / "run.kernel.ndjson"
    tail = KernelTail(path)
    tail.update()
    ends = {"saddr": "10.0.0.1", "sport": 5, "daddr": "10.0.0.2", "dport": 6}
    header = {"type": "header", "layout": {"alpha_bits": 24}}
    sample = {"type": "sample", "upscaled_alpha": 1 << 27, "classic_ecn_raw": 9 << 24} | ends
    text = json.dumps(header) + "\n" + json.dumps(sample) + "\n" + '{"type": "sam'
    path.write_text(text)
    tail.update()
    key = ("10.0.0.1", 5, "10.0.0.2", 6)
    assert tail.alpha(key) == 0.5
    assert tail.classic_ecn(key) == 9
    path.write_text(text + 'ple", "alpha": 0.25, ' + json.dumps(ends)[1:] + "\n")
    tail.update()
    assert tail.alpha(key) == 0.25


@pytest.mark.parametrize(
    ("values", "expected"), [([], ""), ([0, 0], "▁▁"), ([0, 1, 2], " ▄█"), ([5], "█")]
)
def test_sparklines(values: list[float], expected: str) -> None:
    assert view.sparkline(values) == expected


def lane(name: str, **values: Any) -> Lane:
    return Lane(name, ("10.0.0.1", 1, "10.0.0.2", 2), **values)


def test_keys_choose_and_sort_what_is_shown() -> None:
    slow, fast = lane("slow", queue_us=9e3), lane("fast", queue_us=100.0)
    fast.rates.append(1e6)
    order = Order()
    assert order.choose([slow, fast], 5) == [fast, slow]
    order.press("s", 2)
    assert (order.by, order.choose([slow, fast], 5)) == ("queue", [slow, fast])
    for key in "jjj":
        order.press(key, 2)
    assert order.choose([slow, fast], 5) == [fast], "scrolled to the last one, no further"
    assert order.choose([slow], 5) == [slow], "a lane that went away leaves no empty screen"
    order.press("k", 2)
    order.press("o", 2)
    assert order.choose([slow, fast], 5) == [slow]
    for _ in range(len(ORDERS) - 1):
        order.press("s", 2)
    assert order.by == "rate"


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ({"cc": "prague", "accecn": True}, True),
        ({"cc": "cubic", "accecn": True, "mix": {"ect1": 9, "ect0": 0}}, False),
        ({"accecn": True, "mix": {"ect1": 9, "ect0": 0}}, True),
        ({"accecn": True, "mix": {"ect1": 0, "ect0": 9}}, False),
        ({"mix": {"ect1": 9}}, False),
    ],
)
def test_a_score_is_for_flows_that_may_be_prague(values: dict[str, Any], shown: bool) -> None:
    assert lane("one", **values).may_be_prague is shown


def test_without_a_terminal_one_line_says_so() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "l4strace", "watch", "-i", "lo"],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "not a terminal" in done.stderr
    assert done.stdout == ""


@pytest.mark.root
@pytest.mark.needs("ip", "ps", "tcpdump", "dumpcap", "ethtool")
def test_the_screen_shows_a_transfer_and_q_leaves_the_run(tmp_path: Path) -> None:
    with network() as net:
        stem = tmp_path / "run"
        words = ["-m", "l4strace", "watch", "-i", net.left_device, "--filter", f"tcp port {PORT}"]
        words += ["--kernel", "tracefs", "-o", str(stem)]
        pid, terminal = pty.fork()
        if pid == 0:
            os.environ["TERM"] = "xterm"
            os.environ["LINES"], os.environ["COLUMNS"] = "45", "110"
            os.execvp("ip", net.command(net.left, sys.executable, *words))  # noqa: S606
        shown = bytearray()

        def read() -> None:
            try:
                while chunk := os.read(terminal, 65536):
                    shown.extend(chunk)
            except OSError:
                pass

        def wait_for(*words: str) -> None:
            for word in words:
                wait_until(lambda: word.encode() in shown, f"the screen shows {word}")  # noqa: B023

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        wait_for("kernel events")
        traffic = net.start(net.left, *net.send(PATIENCE_SECONDS))
        try:
            wait_for("throughput", "Mbit/s", "10.78.0.2:5302")
            os.write(terminal, b"s")
            wait_for("sorted by queue")
            os.write(terminal, b"q")
            _, status = os.waitpid(pid, 0)
        finally:
            traffic.kill()
            traffic.wait()
        assert os.waitstatus_to_exitcode(status) == 0
        reader.join(PATIENCE_SECONDS)
        text = shown.decode(errors="replace")
        after = text[text.rindex("\x1b[?1049l") :]
        verdict = after.split("recorded ")[0].removeprefix("\x1b[?1049l").strip()
        assert verdict, after
        capture = f"{stem}.pcapng"
        judged = subprocess.run(
            [sys.executable, "-m", "l4strace", "diagnose", capture, "--no-html"],
            check=False,
            capture_output=True,
            text=True,
        )
        assert " ".join(verdict.split()) in " ".join(judged.stdout.split())
        for ending in (".pcapng", ".kernel.ndjson.zst", ".host.json"):
            assert stem.with_name(stem.name + ending).exists()
