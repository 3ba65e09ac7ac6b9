"""Packets through an AF_PACKET ring of our own (TPACKET_V3): needs no program installed."""

import ctypes
import mmap
import socket
import struct

from packets.filters import ports_of, program

SOL_PACKET, SO_ATTACH_FILTER = 263, 26
PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION = 5, 6, 10
TPACKET_V3 = 2
ETH_P_ALL = 3
BLOCK_SIZE = 1 << 20
RETIRE_MS = 50
"""A block that is not full is handed over after this time."""
STATUS_USER = 1
VLAN_VALID, TPID_VALID = 0x10, 0x40
BLOCK = struct.Struct("=8xIII")
"""Status, packets and offset of the first one (struct tpacket_hdr_v1)."""
FRAME = struct.Struct("=IIIIIIHHIIH")
"""Struct tpacket3_hdr: next, sec, nsec, captured, wire, status, mac, net, hash, tci, tpid."""
SIOCGIFHWADDR = 0x8927
ETHERNET, RAW_IP = 1, 101
LINK_TYPES = {1: ETHERNET, 772: ETHERNET}
"""ARPHRD_ETHER and ARPHRD_LOOPBACK carry Ethernet headers; what else is taken here is bare IP."""


def attach(sock, steps):
    """Attach classic BPF (struct sock_fprog)."""
    packed = b"".join(struct.pack("=HBBI", *step) for step in steps)
    buffer = ctypes.create_string_buffer(packed, len(packed))
    fprog = struct.pack("@HP", len(steps), ctypes.addressof(buffer))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, fprog)


def link_type(sock, name):
    """Return the pcap link type of an interface (SIOCGIFHWADDR returns its ARPHRD)."""
    import fcntl

    answer = fcntl.ioctl(sock, SIOCGIFHWADDR, struct.pack("16s24x", name.encode()))
    return LINK_TYPES.get(struct.unpack_from("=H", answer, 16)[0], RAW_IP)


class Ring:
    """One interface's ring; `packets` hands out what the kernel has put there."""

    def __init__(self, name, filter_text, snaplen, megabytes):
        self.name = name
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
        self.link_type = link_type(self.socket, name)
        steps = [(0x06, 0, 0, snaplen)]
        if filter_text:
            steps = program(ports_of(filter_text), self.link_type == ETHERNET, snaplen)
        attach(self.socket, steps)
        self.socket.setsockopt(SOL_PACKET, PACKET_VERSION, TPACKET_V3)
        self.blocks = max(4, megabytes)
        frames = self.blocks * (BLOCK_SIZE // 2048)
        request = (BLOCK_SIZE, self.blocks, 2048, frames, RETIRE_MS, 0, 0)
        self.socket.setsockopt(SOL_PACKET, PACKET_RX_RING, struct.pack("=7I", *request))
        self.map = mmap.mmap(self.socket.fileno(), BLOCK_SIZE * self.blocks)
        self.socket.bind((name, ETH_P_ALL))
        self.block = 0
        self.received = self.dropped = 0

    def fileno(self):
        return self.socket.fileno()

    def packets(self, emit):
        """Call `emit(ts_ns, wire_len, data)` for each waiting packet; return how many."""
        total = 0
        for _ in range(self.blocks):
            at = self.block * BLOCK_SIZE
            status, count, offset = BLOCK.unpack_from(self.map, at)
            if not status & STATUS_USER:
                break
            self._block(at + offset, count, emit)
            struct.pack_into("=I", self.map, at + 8, 0)
            self.block = (self.block + 1) % self.blocks
            total += count
        return total

    def _block(self, at, count, emit):
        ring = self.map
        for _ in range(count):
            step, sec, nsec, length, wire, status, mac, _, _, tci, tpid = FRAME.unpack_from(
                ring, at
            )
            data = ring[at + mac : at + mac + length]
            if status & VLAN_VALID:
                # The kernel took the tag out; the wire had it.
                tag = struct.pack(">HH", tpid if status & TPID_VALID else 0x8100, tci)
                data, wire = data[:12] + tag + data[12:], wire + 4
            emit(sec * 1000000000 + nsec, wire, data)
            at += step

    def count(self):
        """Add the kernel's counts since the last call: reading them resets them."""
        raw = self.socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 12)
        received, dropped, _ = struct.unpack("=3I", raw)
        self.received += received
        self.dropped += dropped

    def alive(self):
        """Return whether the interface is still there: its removal shows as a socket error."""
        error = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if error:
            return False
        try:
            socket.if_nametoindex(self.name)
        except OSError:
            return False
        return True

    def close(self):
        self.map.close()
        self.socket.close()
