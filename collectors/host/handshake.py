"""One SYN that requests AccECN, and how it is answered: no connection is made.

It leaves by a raw socket from a port that this process holds, so that it does not depend on what
this kernel negotiates. The kernel, which knows of no such connection, resets what comes back.
"""

import random
import socket
import struct
import time

NOT_ECT, ECT1, ECT0, CE = range(4)
SYN, RST, ACK = 0x002, 0x004, 0x010
ACE_SHIFT = 6
REQUEST = 0b111
"""AE, CWR and ECE of a SYN that requests AccECN (RFC 9768 section 3.1.1)."""
MSS = struct.pack(">BBH", 2, 4, 1220)
ACCECN_OPTIONS = (172, 174)
TRIES, PATIENCE_S = 3, 1.0
"""As many SYNs, so long apart: the first retransmission of a kernel comes after 1 s (RFC 6298)."""


class Answer:
    """What came back: `ace` and the codepoint `ecn` of the SYN/ACK, or that it was a reset."""

    def __init__(self, flags, ecn, options=b""):
        self.reset = bool(flags & RST)
        self.ace = flags >> ACE_SHIFT & 7
        self.ecn = ecn
        self.option = next((kind for kind in kinds(options) if kind in ACCECN_OPTIONS), None)


def ask(family, local, remote, ecn):
    """Send the SYN as codepoint `ecn`; return the Answer, None without one. Raises OSError.

    `local` and `remote` are addresses as of a socket of that family.
    """
    with socket.socket(family, socket.SOCK_STREAM) as holder, raw(family, remote, ecn) as wire:
        holder.bind((local[0], 0, *local[2:]))
        ports = holder.getsockname()[1], remote[1]
        number = random.getrandbits(32)
        segment = syn(family, local[0], remote[0], ports, number)
        for _ in range(TRIES):
            wire.send(segment)
            found = wait(wire, family, ports, number)
            if found:
                return found
    return None


def raw(family, remote, ecn):
    """A raw socket to one host whose packets have a codepoint. Raises PermissionError."""
    wire = socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_TCP)
    try:
        if family == socket.AF_INET6:
            wire.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, ecn)
            wire.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVTCLASS, 1)
        else:
            wire.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, ecn)
        wire.connect((remote[0], 0, *remote[2:]))
    except OSError:
        wire.close()
        raise
    return wire


def syn(family, source, target, ports, number):
    """Return the segment with its checksum."""
    flags = (20 + len(MSS)) // 4 << 12 | REQUEST << ACE_SHIFT | SYN
    parts = [ports[0], ports[1], number, 0, flags, 65535, 0, 0]
    pseudo = socket.inet_pton(family, source.partition("%")[0])
    pseudo += socket.inet_pton(family, target.partition("%")[0])
    pseudo += struct.pack(">II", 20 + len(MSS), socket.IPPROTO_TCP)
    parts[6] = checksum(pseudo + struct.pack(">HHIIHHHH", *parts) + MSS)
    return struct.pack(">HHIIHHHH", *parts) + MSS


def checksum(data):
    """RFC 1071; zeros between the fields of a pseudo header change nothing."""
    total = sum(struct.unpack(">%dH" % (len(data) // 2), data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def wait(wire, family, ports, number):
    """Return the answer to the SYN of that number; None when none comes in time."""
    end = time.monotonic() + PATIENCE_S
    while True:
        left = end - time.monotonic()
        if left <= 0:
            return None
        wire.settimeout(left)
        try:
            data, control, _, _ = wire.recvmsg(4096, 256)
        except socket.timeout:
            return None
        ecn = traffic_class(data, control, family) & 3
        found = read(data[header_bytes(data, family) :], ecn, ports, number)
        if found:
            return found


def header_bytes(data, family):
    """A raw socket of IPv4 hands on the header of IP, one of IPv6 does not."""
    return (data[0] & 0x0F) * 4 if family == socket.AF_INET and data else 0


def traffic_class(data, control, family):
    if family == socket.AF_INET:
        return data[1] if len(data) > 1 else 0
    for level, kind, value in control:
        if (level, kind) == (socket.IPPROTO_IPV6, socket.IPV6_TCLASS):
            return struct.unpack("=i", value[:4])[0]
    raise OSError("the kernel did not hand on the traffic class")


def read(segment, ecn, ports, number):
    """Return the Answer in a segment, None if it answers something else."""
    if len(segment) < 20:
        return None
    source, target, _, ack, flags = struct.unpack(">HHIIH", segment[:14])
    wanted = SYN | ACK if flags & SYN else RST
    ours = (target, source) == ports and ack == (number + 1) % (1 << 32)
    if not ours or flags & wanted != wanted:
        return None
    return Answer(flags & 0x1FF, ecn, segment[20 : (flags >> 12) * 4])


def kinds(options):
    """Kinds of TCP options, as far as their lengths make sense."""
    at = 0
    while at < len(options) and options[at] != 0:
        yield options[at]
        if options[at] == 1:
            at += 1
        elif at + 1 < len(options) and options[at + 1] >= 2:
            at += options[at + 1]
        else:
            return
