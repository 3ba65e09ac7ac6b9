"""A server that negotiates AccECN, by a congestion control of the lab, behind a hop of the lab."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.support.network import Network
from tests.support.places import FIXTURES

PORT = 5201
LAB = str(FIXTURES / "lab")
LISTEN = """
import socket, sys
with socket.socket() as listener:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, sys.argv[2].encode())
    listener.bind(("0.0.0.0", int(sys.argv[1])))
    listener.listen()
    print("listening", flush=True)
    while True:
        listener.accept()[0].close()
"""


class _Namespaces(NamedTuple):
    """As much of the lab's topology as its programs ask for."""

    net: Network

    def namespace_of(self, device: str) -> str:
        return self.net.left if device == self.net.left_device else self.net.right


@contextlib.contextmanager
def served(net: Network, hop: str = "", side: str = "right") -> Iterator[int]:
    """Its port on the right; ``hop`` is a program of the lab's path before ``side``."""
    sys.path.insert(0, LAB)
    try:
        import programs  # type: ignore[import-not-found]
    finally:
        sys.path.remove(LAB)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        stack.enter_context(programs.CongestionControls(folder))
        device = net.right_device if side == "right" else net.left_device
        if hop:
            path = stack.enter_context(programs.PathPrograms(folder))
            namespaces = _Namespaces(net)
            qdisc = ["qdisc", "add", "dev", device, "clsact"]
            subprocess.run(["tc", "-n", namespaces.namespace_of(device), *qdisc], check=True)
            path.attach(namespaces, hop, device, "ingress", 1)
        command = [sys.executable, "-I", "-c", LISTEN, str(PORT), programs.CONGESTION_CONTROLS[0]]
        server = net.start(net.right, *command, stdout=subprocess.PIPE)
        try:
            assert server.stdout.readline() == "listening\n"
            yield PORT
        finally:
            server.terminate()
            server.communicate()
