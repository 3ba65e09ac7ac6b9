"""Write pcapng (draft-ietf-opsawg-pcapng): ns timestamps, interface names, filter, drop counts."""

import os
import struct

SECTION, INTERFACE, STATISTICS, PACKET = 0x0A0D0D0A, 1, 5, 6
BYTE_ORDER = 0x1A2B3C4D
COMMENT, END = 1, 0
IF_NAME, IF_TSRESOL, IF_FILTER = 2, 9, 11
ISB_IFRECV, ISB_IFDROP = 4, 5
PACKET_HEAD = struct.Struct("<IIIIIII")
TAIL = struct.Struct("<I")
PADDING = (b"", b"\0\0\0", b"\0\0", b"\0")
"""Zero bytes that pad a length to 32 bits, by its remainder."""


def options(pairs):
    """Encode (code, bytes) options with their end mark."""
    text = b""
    for code, value in pairs:
        text += struct.pack("<HH", code, len(value)) + value + PADDING[len(value) % 4]
    return text + struct.pack("<HH", END, 0) if pairs else b""


def block(kind, body):
    length = len(body) + 12
    return struct.pack("<II", kind, length) + body + TAIL.pack(length)


def section():
    return block(SECTION, struct.pack("<IHHq", BYTE_ORDER, 1, 0, -1))


def interface(name, link_type, snaplen, text):
    """One interface; `text` is the capture filter as the user wrote it."""
    pairs = [(IF_NAME, name.encode()), (IF_TSRESOL, b"\x09")]
    if text:
        pairs.append((IF_FILTER, b"\0" + text.encode()))
    return block(INTERFACE, struct.pack("<HHI", link_type, 0, snaplen) + options(pairs))


def packet(number, ts_ns, wire_len, data):
    """One packet of interface `number`."""
    pad = PADDING[len(data) % 4]
    length = 32 + len(data) + len(pad)
    high, low = ts_ns >> 32, ts_ns & 0xFFFFFFFF
    head = PACKET_HEAD.pack(PACKET, length, number, high, low, len(data), wire_len)
    return head + data + pad + TAIL.pack(length)


def statistics(number, ts_ns, received, dropped, comment=""):
    """Packets that interface `number` received and dropped; None for an unknown count."""
    pairs = [(COMMENT, comment.encode())] if comment else []
    if received is not None:
        pairs.append((ISB_IFRECV, struct.pack("<Q", received)))
    if dropped is not None:
        pairs.append((ISB_IFDROP, struct.pack("<Q", dropped)))
    body = struct.pack("<III", number, ts_ns >> 32, ts_ns & 0xFFFFFFFF)
    return block(STATISTICS, body + options(pairs))


BLOCK_HEAD = struct.Struct("<II")


def walk(file):
    """Return (bytes that are whole blocks, packets in them, interfaces they name).

    `file` is open for reading; where it stands is kept, for it may be shared with a writer.
    """
    size, at, packets, interfaces = os.fstat(file).st_size, 0, 0, 0
    base, data = 0, b""
    while at + 12 <= size:
        if not base <= at <= base + len(data) - BLOCK_HEAD.size:
            base, data = at, os.pread(file, 1 << 20, at)
        kind, length = BLOCK_HEAD.unpack_from(data, at - base)
        if length < 12 or length % 4 or at + length > size:
            break
        interfaces += kind == INTERFACE
        packets += kind == PACKET
        at += length
    return at, packets, interfaces


def mend(file, ts_ns, comment):
    """Cut a half-written block off the end and record in the file why it ends there.

    Returns the number of bytes cut off. On a full disk the cut is done and the words are not.
    """
    whole, _, interfaces = walk(file)
    cut = os.fstat(file).st_size - whole
    os.ftruncate(file, whole)
    words = b"".join(statistics(n, ts_ns, None, None, comment) for n in range(interfaces))
    try:
        if os.pwrite(file, words, whole) < len(words):
            os.ftruncate(file, whole)
    except OSError:
        os.ftruncate(file, whole)
    return cut
