"""A transfer of a fixed number of bytes: as many packets on a busy machine as on an idle one.

transfer.py sink PORT                      takes what comes, from any number at once
transfer.py send ADDRESS PORT BYTES RATE   sends them, at most so many bytes a second
"""

from __future__ import annotations

import socket
import socketserver
import sys

SO_MAX_PACING_RATE = 47
"""include/uapi/asm-generic/socket.h; Python has no name for it."""
CHUNK = bytes(1 << 16)


class Taker(socketserver.BaseRequestHandler):
    """Reads one connection to its end."""

    def handle(self) -> None:
        while self.request.recv(len(CHUNK)):
            pass


class Sink(socketserver.ThreadingTCPServer):
    """A client that was killed keeps nobody else waiting."""

    allow_reuse_address = True
    daemon_threads = True


def sink(port: int) -> None:
    with Sink(("0.0.0.0", port), Taker) as server:  # noqa: S104 - inside a namespace of our own
        print("listening", flush=True)
        server.serve_forever()


def send(address: str, port: int, size: int, rate: int) -> None:
    """Returns when the other end has read everything."""
    with socket.create_connection((address, port)) as connection:
        connection.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, rate)
        for at in range(0, size, len(CHUNK)):
            connection.sendall(CHUNK[: size - at])
        connection.shutdown(socket.SHUT_WR)
        connection.recv(1)


if __name__ == "__main__":
    role, *words = sys.argv[1:]
    if role == "sink":
        sink(int(words[0]))
    else:
        send(words[0], *map(int, words[1:]))
