"""Classic BPF for simple pcap filters, where no program is here to compile them."""

import re


class UnknownFilterError(ValueError):
    """The filter is beyond what this module compiles."""


def ports_of(text):
    """Return the ports of a filter like `tcp port 80 or port 443`, [] for `tcp` or none.

    Raises UnknownFilterError for all else: that takes dumpcap or tcpdump.
    """
    ports = []
    for term in re.split(r"\s+or\s+", text.strip()) if text.strip() else []:
        match = re.fullmatch(r"(?:tcp\s+)?port\s+(\d+)|tcp", term)
        if not match:
            raise UnknownFilterError(text)
        if match.group(1) is None:
            return []
        ports.append(int(match.group(1)))
    return ports


def program(ports, ethernet, snaplen):
    """Return classic BPF for TCP (no VLAN, IPv6 without extensions) to or from one of the ports."""
    base = 14 if ethernet else 0
    code = []

    def emit(op, jt, jf, k):
        code.append([op, jt, jf, k])

    def checks(x_based, at):
        """Compare both ports; success jumps to the accept label, patched below."""
        for offset in (0, 2):
            emit(0x48 if x_based else 0x28, 0, 0, at + offset)
            for port in ports:
                emit(0x15, "accept", 0, port)

    emit(0x30, 0, 0, base)  # version nibble
    emit(0x54, 0, 0, 0xF0)
    emit(0x15, "v6", 0, 0x60)
    emit(0x15, 0, "reject", 0x40)
    emit(0x30, 0, 0, base + 9)
    emit(0x15, 0, "reject", 6)
    if ports:
        emit(0xB1, 0, 0, base)  # x = IPv4 header length
        checks(True, base)
        emit(0x05, "reject", 0, 0)
    else:
        emit(0x05, "accept", 0, 0)
    labels = {"v6": len(code)}
    emit(0x30, 0, 0, base + 6)
    emit(0x15, 0, "reject", 6)
    if ports:
        checks(False, base + 40)
        emit(0x05, "reject", 0, 0)
    labels["accept"] = len(code)
    emit(0x06, 0, 0, snaplen)
    labels["reject"] = len(code)
    emit(0x06, 0, 0, 0)
    return [resolve(step, index, labels) for index, step in enumerate(code)]


def resolve(step, index, labels):
    """Turn label names into jump distances; `ja` keeps its distance in k."""
    op, jt, jf, k = step
    near = [labels[way] - index - 1 if isinstance(way, str) else way for way in (jt, jf)]
    return (op, 0, 0, near[0]) if op == 0x05 else (op, near[0], near[1], k)
