"""qlog: what a QUIC stack says of its sender, in whichever draft and form it writes.

The native part reads events (`native/src/text_logs/qlog`); here their numbers get the units of the
table `kernel`. Windows in bytes become packets of the largest size that was sent. A log without a
reference to Unix time keeps its own clock until a capture shows the offset.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime, timezone

import polars as pl

from l4strace.core import _native
from l4strace.ingest import file_names, untrusted
from l4strace.ingest.logs.blocks import read_through
from l4strace.ingest.logs.samples import ANY, DATAGRAMS, IDENTITY, SAMPLES, Log, shaped
from l4strace.ingest.logs.thin import Keeper
from l4strace.prague.constants import FRAC_CWND_UNIT
from l4strace.schema.words import CODEPOINTS, Stat

BEGINS = re.compile(
    rb'\A[\x1e\s]*\{(?:[^\x00]{0,4096}?)"(?:qlog_version|qlog_format)"\s*:'
    rb'|\A[\x1e\s]*\{(?:[^\x00]{0,4096}?)"file_schema"\s*:\s*"urn:ietf:params:qlog'
)
LEAST_DATAGRAM = 1200
"""Bytes that every path carries (RFC 9000 section 14.1): a sender's packets are no smaller."""
UNIX_NS = (10**18, 4 * 10**18)
"""2001 to 2096: times in between count from 1970."""
WALL_CLOCK = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:\d\d)", re.ASCII
)
PICOQUIC = "picoquic"
CUT = "The last event or bracket is missing: the log was cut, or its writer did not end it."
UNREAD = "Events that are no JSON, have no time or are longer than 1 MB."


def read(path: str) -> Log:
    """Reads one file, of one connection or of several. Raises ValueError when it has no event."""
    log, keeper, reader = Log(path, "qlog", transport="quic"), Keeper(), _native.QlogReader()
    for table in _tables(path, log, reader):
        frame = pl.DataFrame(table)
        if frame.height:
            keeper.add(_samples(frame, _traces(reader)))
    traces, counts = _traces(reader), reader.counts()
    if not counts["events"]:
        raise ValueError("a qlog without an event that can be read")
    log.samples = _identified(keeper.finish(), traces)
    log.datagrams = _datagrams(pl.DataFrame(reader.datagrams()), traces)
    log.records = counts["events"]
    log.comment = _comment(traces)
    if traces["unix"].all():
        log.clock, log.unix_offset_ns = "realtime", 0
    if not counts["whole"]:
        log.complete = False
        log.lose(Stat.TRUNCATED_FILE, 1, "info", CUT)
    log.lose(Stat.LINES_UNREAD, counts["unread"], "loss", UNREAD)
    log.lose(Stat.LINES_UNREAD, counts["traces_left_out"], "loss", "Connections beyond 1,024.")
    log.lose(Stat.SAMPLES_THINNED, keeper.thinned, "info", keeper.WHY)
    return log


def _tables(path: str, log: Log, reader: _native.QlogReader) -> Iterable[_native.ArrowTable]:
    chunks = _native.read_text(file_names.opened(path))
    for chunk in chunks:
        table = reader.feed(chunk)
        if table is not None:
            yield table
    yield reader.finish()
    read_through(chunks, log)


def _traces(reader: _native.QlogReader) -> pl.DataFrame:
    """One row per connection, with `sk`, `base_ns` and whether that makes Unix time (`unix`)."""
    traces = pl.DataFrame(reader.traces())
    dates = [_unix_ns(text) for text in traces["wall_clock"]]
    stated = pl.Series("date_ns", dates, pl.Int64)
    base = pl.coalesce(stated, pl.col("reference_ns"), pl.lit(0, pl.Int64))
    swapped = pl.col("title").str.starts_with(PICOQUIC).fill_null(False)
    return traces.with_columns(
        _port("local_port", swapped),
        _port("remote_port", swapped),
        sk=pl.format("connection {}", "trace"),
        base_ns=base,
        unix=base.is_between(*UNIX_NS),
        picoquic=swapped,
    )


def _port(name: str, swapped: pl.Expr) -> pl.Expr:
    """picoquic writes ports in the byte order of the network."""
    port = pl.col(name).cast(pl.UInt32)
    turned = (port % 256) * 256 + port // 256
    return pl.when(swapped).then(turned).otherwise(port).cast(pl.UInt16).alias(name)


def _unix_ns(text: str | None) -> int | None:
    found = WALL_CLOCK.fullmatch(text or "")
    if found is None:
        return None
    zone = "+00:00" if found[3] == "Z" else found[3]
    try:
        date = datetime.fromisoformat(found[1] + zone).astimezone(timezone.utc)
    except ValueError:
        return None
    return untrusted.time_ns(int(date.timestamp()) * 10**9 + int((found[2] or "0").ljust(9, "0")))


def _timed(frame: pl.DataFrame, traces: pl.DataFrame) -> pl.DataFrame:
    """``frame`` with `sk` and `ts_ns`, without times that 64 bits cannot hold."""
    named = frame.join(
        traces.select("trace", "sk", "base_ns", "picoquic"), on="trace", maintain_order="left"
    )
    far = untrusted.FARTHEST_NS
    near = named.filter(pl.col("base_ns").is_between(-far, far))
    return near.with_columns(ts_ns=pl.col("base_ns") + pl.col("time_ns"))


def _samples(frame: pl.DataFrame, traces: pl.DataFrame) -> pl.DataFrame:
    size = pl.max_horizontal(pl.col("packet_bytes"), pl.lit(LEAST_DATAGRAM, pl.UInt64))
    prague = pl.col("picoquic") & pl.col("alpha").is_not_null()
    return shaped(
        _timed(frame, traces).with_columns(
            cc=pl.when(prague).then(pl.lit("prague")),
            snd_cwnd=pl.col("cwnd_bytes") // size,
            frac_cwnd=(pl.col("cwnd_bytes") / size * FRAC_CWND_UNIT).round(),
            ssthresh=pl.col("ssthresh_bytes") // size,
            packets_out=pl.coalesce("packets_in_flight", pl.col("in_flight_bytes") // size),
            lost_packets=pl.col("lost"),
            rs_rtt_us=pl.col("latest_rtt_us").round(),
            min_rtt_us=pl.col("min_rtt_us").round(),
        )
    )


def _identified(samples: pl.DataFrame, traces: pl.DataFrame) -> pl.DataFrame:
    """``samples`` with the addresses and ports of their connection, this host first."""
    ends = traces.select(
        "sk",
        saddr=pl.when(~pl.col("local").is_in(ANY)).then("local"),
        sport=pl.col("local_port"),
        daddr="remote",
        dport=pl.col("remote_port"),
    )
    known = samples.drop(*IDENTITY).join(ends, on="sk", how="left", maintain_order="left")
    return known.select(SAMPLES.names())


def _datagrams(frame: pl.DataFrame, traces: pl.DataFrame) -> pl.DataFrame:
    """Rows of datagrams; of packets in a direction where the log has no datagrams."""
    way = ["trace", "sent"]
    better = frame.filter(pl.col("packet") == pl.col("packet").min().over(way))
    return _timed(better, traces).rename({"sent": "along"}).select(DATAGRAMS.names())


def _comment(traces: pl.DataFrame) -> str | None:
    """Who wrote the log, and the codepoints of its datagrams where some had one."""
    row = traces.row(0, named=True)
    parts = [" ".join(part for part in (row["title"], row["vantage"]) if part)]
    for way in ("received", "sent"):
        counts = {label: row[f"{way}_{name}"] for name, label in CODEPOINTS.items()}
        if any(count for label, count in counts.items() if label != "Not-ECT"):
            stated = ", ".join(f"{label} {count}" for label, count in counts.items() if count)
            parts.append(f"{way} {stated}")
    return "; ".join(filter(None, parts)) or None
