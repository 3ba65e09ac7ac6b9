"""Logs of UDP Prague and SCReAM: lines of numbers, and the address that the first line names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from l4strace.ingest import untrusted
from l4strace.ingest.logs.samples import ANY
from l4strace.ingest.logs.scream import BEGINS as SCREAM_BEGINS
from l4strace.ingest.logs.udp_prague import FIRST_LINE, REPORT
from l4strace.redact.lines import UNREAD, of_json, of_text
from l4strace.redact.mask import Mask

PACKET = re.compile(
    r"(?:[sr]|NORMAL_ACK_r|RFC8888_ACK_r): -?\d{1,20}(?:,[ ,]*-?\d{1,20}){2,24}[, ]*"
)
COLUMNS = re.compile(r"(?:[sr]|NORMAL_ACK_r|RFC8888_ACK_r): time(?:,[ ,]*[a-zA-Z_0-9]{1,24}){2,24}")
VALUE = re.compile(r"[-\d.eE+]{1,24}")
MOST_VALUES = 25
"""Values of a row of SCReAM that are looked at: it writes 20."""
NUMBER = re.compile(r"-?\d{1,20}(?:\.\d{1,12})?")
NAMES = (
    '"Time [s]","Estimated queue delay [s]","RTT [s]","Congestion window [byte]",'
    '"Bytes in flight [byte]","Fast increase mode","Total transmit bitrate [bps]","Stream ID",'
    '"RTP SN","Bytes newly ACKed","Bytes newly ACKed and CE marked"'
)


def udp_prague(blocks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    """Blocks of whole lines that `-v` printed -> the same, redacted."""

    def line(text: str) -> str:
        if found := FIRST_LINE.match(text):
            role, way, host, port = found.groups()
            shown = host if host in ANY else mask.host(host)
            return f"UDP Prague {role} {way} {shown} on port {port} with max packet size 0 bytes."
        return text if PACKET.fullmatch(text) or COLUMNS.fullmatch(text) else UNREAD

    yield from _lines(blocks, line)


def udp_prague_json(blocks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    """Reports of `-j`: quoted numbers, and another name."""
    kept = dict.fromkeys((*REPORT, "time_since_start", "sent_rate", "rcvd_rate"))

    def line(text: str) -> str:
        record = untrusted.record(text.encode())
        if record is None:
            return UNREAD
        numbers = {
            name: value
            for name, value in record.items()
            if name in kept and isinstance(value, str) and NUMBER.fullmatch(value)
        }
        name = {"name": mask.name(str(record["name"]))} if "name" in record else {}
        return of_json(name | numbers).decode()

    yield from _lines(blocks, line)


def scream(blocks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:  # noqa: ARG001 - no addresses
    """Rows of numbers under the names that show what they are."""

    def line(text: str) -> str:
        if SCREAM_BEGINS.match(text.encode()):
            return NAMES
        values = [value.strip() for value in text.split(",", MOST_VALUES)[:MOST_VALUES]]
        kept = [value if VALUE.fullmatch(value) else "" for value in values]
        return ",".join(kept) if any(kept) else UNREAD

    yield from _lines(blocks, line)


def _lines(blocks: Iterable[bytes], made: Callable[[str], str]) -> Iterator[bytes]:
    return of_text(blocks, lambda line: made(line.rstrip("\r")) if line.strip() else "")
