"""Two network namespaces joined by a veth pair, and ways to run things in them."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

LEFT_ADDRESS, RIGHT_ADDRESS = "10.78.0.1", "10.78.0.2"
PORT = 5302

NUMBERS = itertools.count()
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root for network namespaces")


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

    def start_capture(self, *words: str) -> subprocess.Popen[str]:
        program = [sys.executable, "-m", "l4strace", "capture", "-i", self.left_device]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return self.start(self.left, *program, *words, **pipes)

    def send(self, seconds: float, rate: str = "20M") -> list[str]:
        """Command line of a transfer from left to right."""
        return ["iperf3", "-c", RIGHT_ADDRESS, "-p", str(PORT), "-t", str(seconds), "-b", rate]


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextlib.contextmanager
def network() -> Iterator[Network]:
    """The pair with an iperf3 server on the right; removed whatever happens."""
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
            ip("-n", namespace, "link", "set", device, "up")
        server = net.start(net.right, "iperf3", "-s", "-p", str(PORT), stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        yield net
    finally:
        if server:
            server.terminate()
            server.wait()
        for namespace in (net.left, net.right):
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True, check=False)
