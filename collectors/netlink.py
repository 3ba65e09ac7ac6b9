"""inet_diag over netlink: TCP sockets of this network namespace, all or one, with attributes."""

import errno
import os
import socket
import struct

NETLINK_SOCK_DIAG, SOCK_DIAG_BY_FAMILY = 4, 20
REQUEST, REQUEST_DUMP = 0x1, 0x301
"""NLM_F_REQUEST, and with NLM_F_DUMP."""
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
ANY_COOKIE = (1 << 64) - 1
"""INET_DIAG_NOCOOKIE."""


def network():
    """Return what identifies this network namespace: the number that the kernel keeps in it."""
    return os.stat("/proc/self/ns/net").st_ino


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
    return message(REQUEST_DUMP, body)


def lookup(saddr, daddr, sport, dport, cookie=None):
    """Return the request for one socket; without its cookie a listener may answer for it."""
    family = family_of(saddr)
    body = struct.pack("=BBBBI", family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF)
    body += struct.pack("!HH", sport, dport)
    body += socket.inet_pton(family, saddr).ljust(16, b"\0")
    body += socket.inet_pton(family, daddr).ljust(16, b"\0")
    body += struct.pack("=IQ", 0, ANY_COOKIE if cookie is None else cookie)
    return message(REQUEST, body)


def message(flags, body):
    return NLMSG.pack(NLMSG.size + len(body), SOCK_DIAG_BY_FAMILY, flags, 1, 0) + body


def family_of(text):
    return socket.AF_INET6 if ":" in text else socket.AF_INET


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


def error_of(data, at):
    code = -struct.unpack_from("=i", data, at + NLMSG.size)[0]
    return OSError(code, errno.errorcode.get(code, "netlink") + ": " + os.strerror(code))


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
                    raise error_of(data, at)
                if length < NLMSG.size + DIAG.size or at + length > len(data):
                    return
                start = at + NLMSG.size
                fields = DIAG.unpack_from(data, start)
                yield fields, attributes(data, start + DIAG.size, at + length)
                at += (length + 3) & ~3

    def find(self, message):
        """Send a lookup; return the inet_diag_msg fields, None where this namespace has no such
        socket. Raises OSError."""
        self.netlink.send(message)
        data = self.netlink.recv(BUFFER)
        if NLMSG.unpack_from(data)[1] != ERROR:
            return DIAG.unpack_from(data, NLMSG.size)
        error = error_of(data, 0)
        if error.errno == errno.ENOENT:
            return None
        raise error
