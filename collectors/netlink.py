"""inet_diag over netlink: dump the TCP sockets of this network namespace with chosen attributes."""

import errno
import os
import socket
import struct

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY = 4, 20
REQUEST_DUMP = 0x301
"""NLM_F_REQUEST | NLM_F_DUMP."""
ERROR, DONE = 2, 3
BYTECODE = 1
"""INET_DIAG_REQ_BYTECODE: a filter that the kernel runs per socket."""
BC_JMP, BC_S_EQ, BC_D_EQ = 1, 11, 12
NLMSG = struct.Struct("=IHHII")
DIAG = struct.Struct("=BBBB2s2s16s16sI8sIIIII")
"""Struct inet_diag_msg."""
ESTABLISHED_AND_LATER = 0x1 << 1 | 0x1 << 4 | 0x1 << 5 | 0x1 << 8 | 0x1 << 9
"""Established, both FIN waits, close wait, last ACK: the states that have a congestion window."""
BUFFER = 1 << 20


def bytecode(ports):
    """Return the kernel filter that passes sockets with one of `ports` at either end.

    inet_diag_bc_audit allows a jump only to places that the chain of `yes` links visits, hence the
    JMP after each comparison but the last.
    """
    tests = [(code, port) for port in ports for code in (BC_S_EQ, BC_D_EQ)]
    length = len(tests) * 12 - 4
    program = b""
    for index, (code, port) in enumerate(tests):
        program += struct.pack("=BBH", code, 8, 12) + struct.pack("=BBH", 0, 0, port)
        if index < len(tests) - 1:
            program += struct.pack("=BBH", BC_JMP, 4, length - len(program))
    return program


def attribute(kind, data):
    return struct.pack("=HH", len(data) + 4, kind) + data + b"\0" * (-len(data) % 4)


def request(family, extensions, ports, states=ESTABLISHED_AND_LATER):
    """Return the dump request for one address family; `extensions` are INET_DIAG_* numbers."""
    wanted = 0
    for number in extensions:
        wanted |= 1 << (number - 1)
    body = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, wanted, 0, states) + b"\0" * 48
    if ports:
        body += attribute(BYTECODE, bytecode(ports))
    return NLMSG.pack(NLMSG.size + len(body), SOCK_DIAG_BY_FAMILY, REQUEST_DUMP, 1, 0) + body


def attributes(data, at, end):
    """Return {kind: bytes} of the attributes between two offsets."""
    found = {}
    while at + 4 <= end:
        length, kind = struct.unpack_from("=HH", data, at)
        if length < 4 or at + length > end:
            break
        found[kind & 0x3FFF] = data[at + 4 : at + length]
        at += (length + 3) & ~3
    return found


def address(family, raw):
    if family == socket.AF_INET:
        return socket.inet_ntop(socket.AF_INET, raw[:4])
    if raw[:12] == b"\0" * 10 + b"\xff\xff":
        return socket.inet_ntop(socket.AF_INET, raw[12:])
    return socket.inet_ntop(socket.AF_INET6, raw)


class Sockets:
    """A netlink socket that dumps TCP sockets."""

    def __init__(self):
        self.netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_SOCK_DIAG)
        self.netlink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER)
        self.netlink.bind((0, 0))

    def dump(self, message):
        """Send a request; yield (inet_diag_msg fields, attributes) per socket. Raises OSError."""
        self.netlink.send(message)
        while True:
            data = self.netlink.recv(BUFFER)
            at = 0
            while at + NLMSG.size <= len(data):
                length, kind = NLMSG.unpack_from(data, at)[:2]
                if kind == DONE:
                    return
                if kind == ERROR:
                    code = -struct.unpack_from("=i", data, at + NLMSG.size)[0]
                    raise OSError(
                        code, errno.errorcode.get(code, "netlink") + ": " + os.strerror(code)
                    )
                if length < NLMSG.size + DIAG.size or at + length > len(data):
                    return
                start = at + NLMSG.size
                fields = DIAG.unpack_from(data, start)
                yield fields, attributes(data, start + DIAG.size, at + length)
                at += (length + 3) & ~3
