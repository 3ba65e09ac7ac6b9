"""qlogs: times, sizes, windows, round trips and counts; addresses and connection ids under the key.

Nothing else stays: no names of hosts and servers, no tokens, titles, paths, transport parameters or
text of messages, but for what picoquic writes about Prague. The copy has the form of the original,
and breaks off where that does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from l4strace.core import _native
from l4strace.ingest import untrusted
from l4strace.ingest.logs.samples import ANY
from l4strace.redact.lines import of_json
from l4strace.redact.mask import Mask
from l4strace.redact.words import vocabulary

NUMBERS = vocabulary("""
    cwnd congestion_window current_cwnd ssthresh bytes_in_flight packets_in_flight smoothed_rtt
    min_rtt latest_rtt rtt_variance pacing_rate weight l4s_weight new_ect1 new_ce byte_length
    data_len length payload_length packet_size packet_number count lost_packets ect0 ect1 ce
    ect_0 ect_1 ecn_ect0 ecn_ect1 ecn_ce
    ack_delay port port_v4 port_v6 src_port dst_port time relative_time delta_time
""")
COUNTED = ("ect0", "ect1", "ce", "ect_0", "ect_1", "ecn_ect0", "ecn_ect1", "ecn_ce")
"""Counts of an ACK frame, as drafts and mvfst name them."""
ADDRESSES = vocabulary("ip ip_v4 ip_v6 src_ip dst_ip")
CONNECTION_IDS = vocabulary("dcid scid odcid group_id")
OBJECTS = vocabulary("""
    header raw local remote tuple_local tuple_remote address_v4 address_v6 addr_to addr_from
""")
WORDS = {
    "name": vocabulary("""
        packet_sent packet_received packet_lost packets_lost datagram_sent datagrams_sent
        udp_datagrams_sent datagram_received datagrams_received udp_datagrams_received
        metrics_updated recovery_metrics_updated metric_update congestion_metric_update
        l4s_weight_update ecn_state_updated connection_started tuple_assigned path_assigned message
    """),
    "new": vocabulary("testing unknown failed capable"),
    "packet_type": vocabulary("initial handshake 0RTT 1RTT retry"),
    "frame_type": vocabulary("ack ack_ecn"),
    "ecn": vocabulary("Not-ECT ECT(0) ECT(1) CE ECT0 ECT1 ECN-CE"),
    "type": vocabulary("client server network"),
    "time_units": vocabulary("us ms"),
    "time_format": vocabulary(
        "relative_to_epoch relative_to_previous_event relative delta absolute"
    ),
    "clock_type": vocabulary("monotonic system unknown"),
}
"""Values that stay, by field."""
TRIGGERS = (
    "ACK doesn't contain ECN marks",
    "ACK contains fewer ECN counts than acknowledged ECN-marked packets",
    "ECN mangling detected",
    "all ECN testing packets declared lost",
)
"""Reasons of quic-go; other text may hold anything."""
FIELDS = vocabulary(
    "relative_time time delta_time category event event_type name type trigger data"
)
"""Names of what events that are arrays hold."""
PATTERNS = {
    "qlog_version": re.compile(r"(?:draft-)?\d{1,2}(?:\.\d{1,2})?", re.ASCII),
    "qlog_format": re.compile(r"JSON(?:-SEQ)?|NDJSON"),
    "file_schema": re.compile(r"urn:ietf:params:qlog:file:(?:contained|sequential)"),
    "reference_time": re.compile(r"\d{1,20}(?:\.\d{1,9})?", re.ASCII),
    "wall_clock_time": re.compile(r"[\dT:.+Z-]{1,40}", re.ASCII),
    "title": re.compile(r"picoquic|quic-go qlog"),
    "message": re.compile(r"Prague: ?\d{1,20}(?:, ?\d{1,20}){5}", re.ASCII),
}
NATIVE_DEPTH = 128
"""Levels of JSON that the native reader parses."""
UNREAD_EVENT = b'{"data":{}}'
"""An event without a time: readers count it as unread, as they do what is damaged."""
UNREAD_HEADER = b'"unread":unread'
"""No JSON: so are all headers of a contained log that follow one that is damaged."""
UNREAD_RECORD = b'{"qlog_version":unread}'
"""What is damaged in a sequence, whose first record has the name by which logs are known."""
TORN = b"{"
RECORD = b"\x1e"
OTHER = "other"
Json = dict[str, Any]


def redacted(chunks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    """A log of any form, chunk by chunk -> the same with every event redacted."""
    pieces, copy = _native.QlogPieces(), _Copy(mask)
    for chunk in chunks:
        copy.begin(chunk)
        before = pieces.unread
        yield b"".join(copy.piece(kind, text) for kind, text in pieces.feed(chunk))
        yield copy.unread(pieces.unread - before)
    before = pieces.unread
    whole = pieces.finish()
    yield copy.end(whole=whole, torn=pieces.unread > before)


class _Copy:
    """What was written of the copy so far."""

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self.sequence: bool | None = None
        self.traces = 0
        self.fields: list[str] = ["time", "category", "event", "data"]
        self.events = 0

    def begin(self, chunk: bytes) -> None:
        """Looks whether records begin as those of JSON-SEQ."""
        if self.sequence is None:
            self.sequence = chunk.lstrip()[:1] == RECORD

    def piece(self, kind: str, text: bytes | None) -> bytes:
        """The copy of one piece; of one that no reader takes another that none takes either."""
        if kind == "header":
            return self._header(None if text is None else _parsed(text))
        if kind == "event":
            return self._next(UNREAD_EVENT if text is None else of_json(self._event(_parsed(text))))
        if text is None:
            return self._line(UNREAD_RECORD)
        return self._line(of_json(self._record(untrusted.mapping(_parsed(text)))))

    def unread(self, count: int) -> bytes:
        """Stands for pieces that were too long, torn or of connections that are left out."""
        one = self._next if self.traces else self._line
        return b"".join(one(UNREAD_EVENT if self.traces else UNREAD_RECORD) for _ in range(count))

    def end(self, *, whole: bool, torn: bool) -> bytes:
        """What closes a contained log, unless the original was cut, in a piece or after one."""
        if whole:
            return b"\n]}]}\n" if self.traces else b""
        if not torn:
            return b"\n"
        return self._next(TORN) if self.traces else (RECORD if self.sequence else b"") + TORN

    def _next(self, event: bytes) -> bytes:
        """The next event of a contained log."""
        start = b"" if self.traces else self._header(None)
        self.events += 1
        return start + (b",\n" if self.events > 1 else b"\n") + event

    def _line(self, record: bytes) -> bytes:
        return (RECORD if self.sequence else b"") + record + b"\n"

    def _header(self, value: Any) -> bytes:
        """Opens the next trace of a contained log, or the log; null opens one that is damaged."""
        document = untrusted.mapping(value)
        start = b"]},\n{" if self.traces else self._opened(document) + b"{"
        self.traces += 1
        self.events = 0
        if value is None:
            return start + UNREAD_HEADER + b',"events":['
        traces = document.get("traces")
        last = traces[-1] if isinstance(traces, list) and traces else document
        trace = of_json(self._trace(untrusted.mapping(last)))[1:-1]
        return start + trace + (b"," if trace else b"") + b'"events":['

    def _opened(self, document: Json) -> bytes:
        return of_json(self._named(document))[:-1] + b',"traces":['

    def _named(self, document: Json) -> Json:
        """What makes the file a qlog: the name of its version stays, whatever that is."""
        names = ("qlog_version", "qlog_format", "file_schema", "title")
        return {"qlog_version": None} | self._plain(document, names)

    def _record(self, value: Json) -> Json:
        if "data" in value or "time" in value:
            event = self._event(value)
            return event if isinstance(event, dict) else {}
        return self._named(value) | {
            "trace": self._trace(untrusted.mapping(value.get("trace")) or value)
        }

    def _trace(self, trace: Json) -> Json:
        common = untrusted.mapping(trace.get("common_fields"))
        reference = common.get("reference_time")
        kept: Json = self._plain(trace, ("title", "time_format"))
        point = self._plain(untrusted.mapping(trace.get("vantage_point")), ("type",))
        units = self._plain(untrusted.mapping(trace.get("configuration")), ("time_units",))
        shared = self._plain(common, ("time_format", "time_units", "group_id", "reference_time"))
        if isinstance(reference, dict):
            shared["reference_time"] = self._plain(reference, ("wall_clock_time", "clock_type"))
        names = trace.get("event_fields")
        if isinstance(names, list):
            self.fields = [str(name).lower() for name in names[:16]]
            self.fields = [name if name in FIELDS else OTHER for name in self.fields]
            kept["event_fields"] = self.fields
        parts = {"vantage_point": point, "configuration": units, "common_fields": shared}
        return kept | {name: part for name, part in parts.items() if part}

    def _event(self, value: object) -> object:
        if isinstance(value, list):
            named = dict(zip(self.fields, value, strict=False))
            copy = self._event_fields(named)
            return [copy.get(name) for name in self.fields[: len(value)]]
        return self._event_fields(untrusted.mapping(value))

    def _event_fields(self, event: Json) -> Json:
        copy: Json = {}
        for name, value in event.items():
            if name in ("event", "event_type", "name") or (name == "type" and "name" not in event):
                copy[name] = _event_name(value)
            elif name == "data":
                copy[name] = self._object(untrusted.mapping(value))
            elif name in ("time", "relative_time", "delta_time"):
                copy[name] = untrusted.number(value)
        return copy

    def _object(self, value: Json, depth: int = 0) -> Json:
        """Known fields of the data of an event."""
        copy = self._plain(value, value)
        for name, inner in value.items() if depth < 4 else ():
            if name in OBJECTS and isinstance(inner, dict):
                copy[name] = self._object(inner, depth + 1)
            elif name == "raw" and isinstance(inner, list):
                copy[name] = [self._plain(untrusted.mapping(one), ("length",)) for one in inner]
            elif name == "ecn" and isinstance(inner, list):
                copy[name] = [one if one in WORDS["ecn"] else None for one in map(str, inner)]
            elif name == "frames" and isinstance(inner, list):
                copy[name] = [*map(self._ack, filter(_is_ack, inner))]
        return copy

    def _ack(self, frame: Json) -> Json:
        ranges = frame.get("acked_ranges")
        copy = self._plain(frame, ("frame_type", *COUNTED))
        if isinstance(ranges, list):
            copy["acked_ranges"] = [
                [untrusted.whole(end) for end in one[:2]] for one in ranges if isinstance(one, list)
            ]
        return copy

    def _plain(self, value: Json, names: Iterable[str]) -> Json:
        """The fields of ``names`` that hold a number or a text which may stay."""
        found = ((name, self._value(name, value.get(name))) for name in names)
        return {name: kept for name, kept in found if kept is not None}

    def _value(self, name: str, value: object) -> object:
        if name in NUMBERS or (name == "reference_time" and not isinstance(value, str)):
            return untrusted.number(value) if not isinstance(value, int) else value
        if not isinstance(value, str):
            return None
        if name in ADDRESSES:
            return value if value in ANY else self.mask.host(value)
        if name in CONNECTION_IDS:
            return self.mask.socket(value) if value else ""
        if name == "trigger":
            return value if value in TRIGGERS else "removed"
        if name in WORDS:
            return value if value in WORDS[name] else None
        pattern = PATTERNS.get(name)
        return value if pattern is not None and pattern.fullmatch(value) else None


def _event_name(value: object) -> str:
    """The name without its category, which drafts write before it."""
    bare = str(value).rpartition(":")[2]
    return bare if bare in WORDS["name"] else OTHER


def _is_ack(frame: object) -> bool:
    return isinstance(frame, dict) and str(frame.get("frame_type")).startswith("ack")


def _parsed(text: bytes) -> Any:
    return untrusted.parsed(text, depth=NATIVE_DEPTH)
