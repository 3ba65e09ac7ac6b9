"""What Wireshark's dissector reports of a packet, in the words of the `packets` table.

The second opinion on our own decode. A dissected packet is a mapping from a Wireshark field name to
all its values in the order of the packet, as text; tunnels give some fields several values, of
which the last belongs to the innermost header.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from l4strace.errors import InputError, UsageError

Dissected = Mapping[str, Sequence[str]]

OPTIONS = {
    "ip.defragment": "FALSE",
    "ipv6.defragment": "FALSE",
    "tcp.desegment_tcp_streams": "FALSE",
    "tcp.relative_sequence_numbers": "FALSE",
    "tcp.analyze_sequence_numbers": "FALSE",
    "tcp.try_heuristic_first": "FALSE",
}
"""Preferences: each packet for itself, as it stands in the file."""

EXPLAINED = {
    "payload_len": "where IP claims more than the header around it leaves, Wireshark cuts the "
    "packet there; l4strace believes IP's own length and counts the packet under `odd_lengths`.",
}
"""Disagreements that are meant, by column."""

ACCECN_KINDS = (172, 174)
ACCECN_EXIDS = (0xACC0, 0xACC1, 0xACCE)
EXPERIMENT_KIND = 254
NOP_OR_END = (0, 1)


@dataclass(frozen=True)
class Disagreement:
    """One field of one packet that the two decoders read differently."""

    frame: int
    column: str
    ours: Any
    wireshark: Any


def _number(text: str) -> int:
    return int(text, 0)


def _last(packet: Dissected, *fields: str) -> int | None:
    """The innermost value of the first field that is there."""
    for field in fields:
        if packet.get(field):
            return _number(packet[field][-1])
    return None


def _ip(packet: Dissected, version_4: str, version_6: str) -> int | None:
    return _last(packet, version_4 if _innermost_version(packet) == 4 else version_6)


def _innermost_version(packet: Dissected) -> int:
    layers = [name for name in packet["frame.protocols"][0].split(":") if name in ("ip", "ipv6")]
    return 4 if layers and layers[-1] == "ip" else 6


def _ip_id(packet: Dissected) -> int | None:
    if _innermost_version(packet) == 4:
        return _last(packet, "ip.id")
    # The fragment header's identification has 32 bits; we keep 16 of them.
    value = _last(packet, "ipv6.fraghdr.ident")
    return None if value is None else value & 0xFFFF


def _outer_ecn(packet: Dissected) -> int | None:
    protocols = packet["frame.protocols"][0].split(":")
    # What carries the copy of a packet is no tunnel on its path.
    begin = max((at for at, name in enumerate(protocols) if name in ("erspan", "tzsp")), default=0)
    layers = [name for name in protocols[begin:] if name in ("ip", "ipv6")]
    if len(layers) < 2:
        return None
    field = "ip.dsfield.ecn" if layers[0] == "ip" else "ipv6.tclass.ecn"
    return _number(packet[field][protocols[:begin].count(layers[0])])


def _time(packet: Dissected) -> int:
    seconds, _, fraction = packet["frame.time_epoch"][0].partition(".")
    return int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0")[:9])


def _sack(packet: Dissected) -> list[int] | None:
    left = [_number(value) for value in packet.get("tcp.options.sack_le", ())]
    right = [_number(value) for value in packet.get("tcp.options.sack_re", ())]
    return [edge for block in zip(left, right, strict=True) for edge in block] or None


def _options(packet: Dissected) -> Iterator[tuple[int, int]]:
    """(kind, length) of the options that have a length."""
    kinds = [_number(value) for value in packet.get("tcp.option_kind", ())]
    lengths = [_number(value) for value in packet.get("tcp.option_len", ())]
    return zip((kind for kind in kinds if kind not in NOP_OR_END), lengths, strict=False)


def _exid(packet: Dissected) -> int | None:
    exids = [_number(value) for value in packet.get("tcp.options.experimental.exid", ())]
    return next((exid for exid in exids if exid in ACCECN_EXIDS), None)


def _accecn(packet: Dissected, part: int) -> int | None:
    for option in _options(packet):
        experiment = option[0] == EXPERIMENT_KIND and _exid(packet) is not None
        if option[0] in ACCECN_KINDS or experiment:
            return option[part]
    return None


def _ace(packet: Dissected) -> int | None:
    """ACE from the flags: Wireshark shows its own field only once it detects AccECN."""
    flags = _last(packet, "tcp.flags")
    return None if flags is None else flags >> 6 & 7


def _field(*fields: str) -> Callable[[Dissected], int | None]:
    return lambda packet: _last(packet, *fields)


READERS: dict[str, Callable[[Dissected], Any]] = {
    "frame": _field("frame.number"),
    "ts_ns": _time,
    "captured_len": _field("frame.cap_len"),
    "wire_len": _field("frame.len"),
    "ip_version": _innermost_version,
    "ttl": lambda packet: _ip(packet, "ip.ttl", "ipv6.hlim"),
    "dscp": lambda packet: _ip(packet, "ip.dsfield.dscp", "ipv6.tclass.dscp"),
    "ip_ecn": lambda packet: _ip(packet, "ip.dsfield.ecn", "ipv6.tclass.ecn"),
    "outer_ecn": _outer_ecn,
    "ip_id": _ip_id,
    "tcp_flags": _field("tcp.flags"),
    "seq_raw": _field("tcp.seq_raw"),
    "ack_raw": _field("tcp.ack_raw"),
    "payload_len": _field("tcp.len"),
    "window": _field("tcp.window_size_value"),
    "ace": _ace,
    "accecn_kind": lambda packet: _accecn(packet, 0),
    "accecn_exid": _exid,
    "accecn_len": lambda packet: _accecn(packet, 1),
    "e0b": _field("tcp.options.acc_ecn.ee0b"),
    "ceb": _field("tcp.options.acc_ecn.eceb"),
    "e1b": _field("tcp.options.acc_ecn.ee1b"),
    "mss": _field("tcp.options.mss_val"),
    "wscale": _field("tcp.options.wscale.shift"),
    "sack_permitted": lambda packet: any(kind == 4 for kind, _ in _options(packet)),
    "tsval": _field("tcp.options.timestamp.tsval"),
    "tsecr": _field("tcp.options.timestamp.tsecr"),
    "sack": _sack,
}
"""Column of `packets` -> how to read it from Wireshark. Unwrapped columns have no counterpart."""

FIELDS = (
    "frame.number", "frame.protocols", "frame.time_epoch", "frame.cap_len", "frame.len",
    "ip.ttl", "ip.dsfield.dscp", "ip.dsfield.ecn", "ip.id",
    "ipv6.hlim", "ipv6.tclass.dscp", "ipv6.tclass.ecn", "ipv6.fraghdr.ident",
    "tcp.flags", "tcp.seq_raw", "tcp.ack_raw", "tcp.len", "tcp.window_size_value",
    "tcp.option_kind", "tcp.option_len", "tcp.options.experimental.exid",
    "tcp.options.acc_ecn.ee0b", "tcp.options.acc_ecn.eceb", "tcp.options.acc_ecn.ee1b",
    "tcp.options.mss_val", "tcp.options.wscale.shift",
    "tcp.options.timestamp.tsval", "tcp.options.timestamp.tsecr",
    "tcp.options.sack_le", "tcp.options.sack_re",
)  # fmt: skip
"""Wireshark fields that the readers look at."""


def compare(ours: Mapping[str, Any], packet: Dissected) -> list[Disagreement]:
    """Fields of a row of `packets` that Wireshark reads differently."""
    theirs = {column: reader(packet) for column, reader in READERS.items()}
    return [
        Disagreement(ours["frame"], column, ours[column], value)
        for column, value in theirs.items()
        if ours[column] != value
    ]


def dissect(path: str, frames: Iterable[int]) -> Iterator[dict[str, list[str]]]:
    """The chosen frames of a capture, dissected by tshark through pyshark, in file order.

    Raises UsageError where pyshark or tshark is missing, InputError where tshark ends before it
    has shown them all.
    """
    missing = set(frames)
    try:
        import pyshark
        from pyshark.capture.capture import TSharkCrashException
        from pyshark.tshark.tshark import TSharkNotFoundException
    except ImportError as error:
        raise UsageError("pyshark is missing", "pip install 'l4strace[wireshark]'") from error

    class Capture(pyshark.FileCapture):  # type: ignore[misc]  # pyshark has no types
        """pyshark closes it again when it is garbage-collected, which must not raise again."""

        def close(self) -> None:
            with suppress(TSharkCrashException):
                super().close()
            # Else children of others wake its event loop, which does not run any more.
            self.eventloop.remove_signal_handler(signal.SIGCHLD)

    chosen = "frame.number in {" + ", ".join(map(str, sorted(missing))) + "}"
    try:
        with Capture(
            path, display_filter=chosen, keep_packets=False, override_prefs=OPTIONS
        ) as capture:
            for packet in capture:
                missing.discard(int(packet.number))
                yield _flattened([packet.frame_info, *packet.layers])
    except TSharkNotFoundException as error:
        raise UsageError("tshark is missing", "Install Wireshark's command line.") from error
    except TSharkCrashException:
        # A cut file ends in an error as well, and of a tshark that ended just as it was closed
        # pyshark says 255, whatever its exit code was: what it has shown counts.
        pass
    if missing:
        raise InputError(f"{path}: tshark cannot read it")


def _flattened(layers: Sequence[Any]) -> dict[str, list[str]]:
    """All values of the fields that the readers look at, innermost last."""
    values: dict[str, list[str]] = {}
    for layer in layers:
        for name in (name for name in FIELDS if name.startswith(f"{layer.layer_name}.")):
            if (found := layer.get_field(name)) is not None:
                values.setdefault(name, []).extend(field.show for field in found.all_fields)
    return values
