"""Two network namespaces joined by a veth pair, and ways to run things in them."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import wait_until

LEFT_ADDRESS, RIGHT_ADDRESS = "10.78.0.1", "10.78.0.2"
PORT = 5302
TRANSFER = str(Path(__file__).with_name("transfer.py"))
PACKET_BYTES = 6000
READY = "packets by", "packets: not recorded"
"""What `capture` says when its last part runs."""

NUMBERS = itertools.count()
on_the_host = [pytest.mark.root, pytest.mark.needs("ip", "ps", "tcpdump", "dumpcap", "ethtool")]
"""Marks of a test that captures in network namespaces."""


class Capture(subprocess.Popen[str]):
    """A capture under way. What it prints goes to a file, so that it can be read meanwhile."""

    def __init__(self, command: list[str]) -> None:
        self.printed = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        super().__init__(command, stdout=subprocess.PIPE, stderr=self.printed, text=True)

    def said(self) -> str:
        """Standard error so far."""
        descriptor = self.printed.fileno()
        return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")

    def wait_for(self, *any_of: str) -> None:
        """Until it has said one of these."""

        def said() -> bool:
            running = self.poll() is None
            found = any(words in self.said() for words in any_of)
            assert found or running, f"it ended: {self.said()}"
            return found

        wait_until(said, f"it says {any_of}")

    def communicate(self, input: Any = None, timeout: float | None = None) -> tuple[str, str]:  # noqa: A002
        """Standard output and standard error, once it has ended."""
        out, _ = super().communicate(input, timeout)
        return out, self.said()


@dataclass(frozen=True)
class Network:
    """Names of the two namespaces and of the interface in each."""

    left: str
    right: str
    left_device: str = "v0"
    right_device: str = "v1"

    def command(self, namespace: str, *words: str) -> list[str]:
        return ["ip", "netns", "exec", namespace, *words]

    def start(self, namespace: str, *words: str, **options: object) -> subprocess.Popen[str]:
        return subprocess.Popen(self.command(namespace, *words), text=True, **options)  # type: ignore[call-overload, no-any-return]

    def run(self, namespace: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(namespace, *words),
            text=True,
            capture_output=True,
            timeout=120,
            check=False,
        )

    def capture(self, *words: str) -> subprocess.CompletedProcess[str]:
        """`l4strace capture` on the left host."""
        program = [sys.executable, "-m", "l4strace", "capture", "-i", self.left_device]
        return self.run(self.left, *program, *words)

    def start_capture(self, *words: str) -> Capture:
        """The same, under way: `wait_for(*READY)` before what it has to see."""
        program = [sys.executable, "-m", "l4strace", "capture", "-i", self.left_device]
        return Capture(self.command(self.left, *program, *words))

    def send(self, seconds: float, megabits: int = 20) -> list[str]:
        """Command line of a transfer from left to right, of as many bytes as are due by then."""
        rate = megabits * 125_000
        words = [RIGHT_ADDRESS, str(PORT), str(int(seconds * rate)), str(rate)]
        return [sys.executable, "-I", TRANSFER, "send", *words]

    def transfer(self, seconds: float, megabits: int = 20) -> None:
        """Such a transfer, to its end."""
        done = self.run(self.left, *self.send(seconds, megabits))
        assert done.returncode == 0, done.stderr


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextlib.contextmanager
def network() -> Iterator[Network]:
    """The pair with a sink on the right; removed whatever happens."""
    number = next(NUMBERS)
    net = Network(*(f"l4t-{os.getpid()}-{number}{end}" for end in "ab"))
    server = None
    try:
        for namespace in (net.left, net.right):
            ip("netns", "add", namespace)
            ip("-n", namespace, "link", "set", "lo", "up")
        pair = ["type", "veth", "peer", "name", net.right_device, "netns", net.right]
        ip("link", "add", net.left_device, "netns", net.left, *pair)
        ends = (
            (net.left, net.left_device, LEFT_ADDRESS),
            (net.right, net.right_device, RIGHT_ADDRESS),
        )
        for namespace, device, address in ends:
            ip("-n", namespace, "address", "add", f"{address}/24", "dev", device)
            # Else TCP makes a few packets of 64 kB of a transfer, as the round trip is short.
            ip("-n", namespace, "link", "set", device, "gso_max_size", str(PACKET_BYTES))
            ip("-n", namespace, "link", "set", device, "up")
        sink = [sys.executable, "-I", TRANSFER, "sink", str(PORT)]
        server = net.start(net.right, *sink, stdout=subprocess.PIPE)
        assert server.stdout.readline() == "listening\n"
        yield net
    finally:
        if server:
            server.terminate()
            server.communicate()
        for namespace in (net.left, net.right):
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True, check=False)
