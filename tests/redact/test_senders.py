"""Copies of the logs of UDP Prague and SCReAM: numbers alone, and a mapped address."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

from l4strace.ingest.logs import open_log
from l4strace.redact import senders
from l4strace.redact.mask import Mask

MASK = Mask(b"k" * 32)
PRIVATE = "private"
PRAGUE = f"""\
UDP Prague sender connecting to 198.51.100.7 on port 8080 with max packet size 1400 bytes.
s: time, timestamp, echoed_timestamp, time_diff, seqnr, packet_size,,,,, pacing_rate
s: 158, 158, 0, 157, 1, 156,,,,, 12135, 90, 1, 0, 0, -157
NORMAL_ACK_r: 10842, 636357, 158, 636356, 1, 26, 1, 0, 0, 0,,,,, 0, 1, 2171
RFC8888_ACK_r: 30000, 3, 2, 5, 3, 11, 4, 2, 0, 0,,,,, 5, 1, 9
s: 40000, 158, 0, 157, 1, 156,,,,, 12135, 90, 1, 0, 0, -157 {PRIVATE}
{PRIVATE} 198.51.100.7
UDP Prague sender connecting to {PRIVATE} on port 1 with max packet size 1 bytes.
"""
REPORTS = f"""\
{{"name":"{PRIVATE}","time":"1000000000000000","time_since_start":"1","rcvd_rate":"1.5","rtt":"10.5",\
"pkt_rcvd":"10","pkt_mark":"2","pkt_lost":"0","pkt_window":"6","host":"{PRIVATE}"}}
{{"name":"{PRIVATE}","time":"1000000001000000","pkt_rcvd":"{PRIVATE}","pkt_window":"7"}}
{PRIVATE}
"""
SCREAM = f"""\
"Time [s]","Estimated queue delay [s]","RTT [s]",{",".join(['"x"'] * 13)},"{PRIVATE}"
0.0132,0.0000,0.0113, 37500,6372,0,0,0,0,1212,0,0,0,0,0,0,0,1000000,0.000, 1
0.0152,0.0011,0.0132, 37500,3948,0,0,0,2,1212,1212,0,0,0,0,0,0,5260782,0.000, 1
0.0153,0.0011,0.0132, 37500,3948,0,0,0,2,1212,1212,0,0,0,0,0,0,{PRIVATE}
"""
TRANSMITTED = f"""\
0.0132, 0, 0.0019, 0.5540, 0.5520
0.0152, 1, 0.0020, 0.5550, 0.5530
0.0152, 2, {PRIVATE}, 0.5550, 0.5530
"""
Redact = Callable[[Iterable[bytes], Mask], Iterator[bytes]]
KINDS: dict[str, tuple[str, Redact]] = {
    "prague": (PRAGUE, senders.udp_prague),
    "reports": (REPORTS, senders.udp_prague_json),
    "scream": (SCREAM, senders.scream),
    "transmitted": (TRANSMITTED, senders.scream),
}


@pytest.mark.parametrize("kind", KINDS)
def test_the_copy_has_the_numbers_and_nothing_private(tmp_path: Path, kind: str) -> None:
    text, redact = KINDS[kind]
    copy = b"".join(redact([text.encode()], MASK)).decode()
    assert PRIVATE not in copy
    assert "198.51.100" not in copy
    kept = "\n".join(line for line in text.splitlines() if line != PRIVATE)
    for name, one in (("a", kept if kind != "prague" else PRAGUE), ("b", copy)):
        (tmp_path / name).write_text(one)
    original, read = (open_log.read(str(tmp_path / name)) for name in ("a", "b"))
    hidden = ["saddr", "daddr"]
    rows = original.samples.drop(hidden)
    assert read.samples.drop(hidden).equals(rows.head(read.samples.height))
    # A line of UDP Prague that holds more than numbers is left out; of a row its other values stay.
    assert rows.height - read.samples.height == (kind == "prague")
    if kind == "prague":
        assert read.samples["daddr"].unique().to_list() == [MASK.host("198.51.100.7")]
