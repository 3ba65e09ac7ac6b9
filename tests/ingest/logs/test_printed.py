"""Logs of one line a sample: bpftrace as text, /proc/net/tcpprobe, siftr.log."""

from pathlib import Path

import polars as pl
import pytest

from l4strace.errors import InputError
from l4strace.ingest.logs import open_log
from l4strace.ingest.logs.samples import Log
from l4strace.redact.mask import Mask
from l4strace.redact.output import Folder
from l4strace.redact.run import redact

MASK = Mask(bytes(32))
NUMBERS = ["ts_ns", "event", "sport", "dport", "snd_cwnd", "ssthresh", "srtt_us"]


def read(text: str, folder: Path) -> Log:
    """A log, of which a redacted copy has the same samples under other addresses."""
    path = folder / "run.txt"
    path.write_text(text)
    log = open_log.read(str(path))
    (copied,) = redact([str(path)], Folder(str(folder / "copies")), MASK)
    assert not copied.left_out
    copy = open_log.read(str(folder / "copies" / path.name))
    assert copy.kind == log.kind
    assert copy.samples.select(NUMBERS).equals(log.samples.select(NUMBERS))
    for name in ("saddr", "daddr"):
        hosts = [host and MASK.host(host) for host in log.samples[name]]
        assert copy.samples[name].to_list() == hosts
    return log


def ends(log: Log) -> set[tuple[object, ...]]:
    return set(log.samples.select("saddr", "sport", "daddr", "dport").rows())


FOUR = {("10.0.0.1", 40001, "10.0.0.2", 5201)}
BPFTRACE = {
    "time and endpoints first": (
        "35789980000000 10.0.0.1:40001 -> 10.0.0.2:5201 cwnd={cwnd} ssthresh=30 srtt_us=176000\n"
    ),
    "named fields": (
        "ts_ns=35789980000000 saddr=10.0.0.1 sport=40001 daddr=10.0.0.2 dport=5201 "
        "snd_cwnd={cwnd}, ssthresh=30, srtt_us=176000\n"
    ),
    "columns": "35789980000000 10.0.0.1 40001 10.0.0.2 5201 {cwnd} 30 176000\n",
}


@pytest.mark.parametrize("form", BPFTRACE)
@pytest.mark.parametrize("attached", ["Attaching 1 probe...\n", ""])
def test_text_of_bpftrace(form: str, attached: str, tmp_path: Path) -> None:
    header = "TIME_NS SADDR SPORT DADDR DPORT CWND SSTHRESH SRTT_US\n" if form == "columns" else ""
    lines = "".join(BPFTRACE[form].format(cwnd=cwnd) for cwnd in (10, 11))
    log = read(attached + header + lines, tmp_path)
    assert (log.kind, log.clock, log.records) == ("bpftrace", "monotonic", 2)
    assert ends(log) == FOUR
    assert log.samples["sk"].n_unique() == 1
    rows = log.samples.select("ts_ns", "event", "snd_cwnd", "ssthresh", "srtt_us").rows()
    assert rows == [(35789980000000, "probe", cwnd, 30, 22000.0) for cwnd in (10, 11)]


@pytest.mark.parametrize(
    "text",
    [
        "Attaching 2 probes...\nhello 10.0.0.1 there\n",
        "Attaching 1 probe...\ncwnd=10 ssthresh=30\n",
        "Attaching 1 probe...\n@cwnd[5201]: 10\n",
    ],
)
def test_text_that_is_not_understood_is_refused_with_the_form_that_is(
    text: str, tmp_path: Path
) -> None:
    path = tmp_path / "run.txt"
    path.write_text(text)
    with pytest.raises(InputError, match="bpftrace -f json"):
        open_log.read(str(path))


def test_the_file_of_the_module_tcp_probe(tmp_path: Path) -> None:
    line = (
        "2.221032535 10.0.0.1:40001 10.0.0.2:5201 32 0x1bd1ed40 0x1bd1ed3f 3 2147483647 5792 "
        "4700 64256\n"
    )
    log = read(line + "damaged\n" + line.replace(" 3 2147483647", " 4 7"), tmp_path)
    assert (log.kind, log.unix_offset_ns) == ("tcp-probe", None)
    assert ends(log) == FOUR
    assert log.samples.select(
        "ts_ns", "data_len", "snd_nxt", "snd_una", "snd_cwnd", "ssthresh", "srtt_us"
    ).rows() == [
        (2221032535, 32, 0x1BD1ED40, 0x1BD1ED3F, 3, None, 4700.0),
        (2221032535, 32, 0x1BD1ED40, 0x1BD1ED3F, 4, 7, 4700.0),
    ]
    assert log.stats == [("lines_unread", 1, "info", "Lines that are no samples.")]


SIFTR = "enable_time_secs=1700000000\tenable_time_usecs=1\tsiftrver={}\tsysname=FreeBSD\n"


def siftr(ssthresh: int, ends: str = "10.0.0.1,40001,10.0.0.2,5201") -> str:
    return (
        f"o,0xbec491a5,1700035789.980000,{ends},{ssthresh},14480,2,65536,64256,7,9,4,1448,22000,1,"
        "544,250000,33304,0,65700,0,0,0,8192,0\n"
    )


def test_siftr(tmp_path: Path) -> None:
    log = read(SIFTR.format("1.3.0") + siftr(2147483647) + siftr(28960), tmp_path)
    assert (log.kind, log.unix_offset_ns) == ("siftr", 0)
    assert ends(log) == FOUR
    rows = log.samples.select("ts_ns", "snd_cwnd", "ssthresh", "srtt_us").rows()
    assert rows == [(1700035789_980_000_000, 10, bound, 22000.0) for bound in (None, 20)]


def test_siftr_of_ipv6_and_of_an_old_version_whose_rtt_has_another_unit(tmp_path: Path) -> None:
    log = read(SIFTR.format("1.2.6") + siftr(28960, "fd00::1,40001,fd00::2,5201"), tmp_path)
    assert ends(log) == {("fd00::1", 40001, "fd00::2", 5201)}
    assert log.samples["srtt_us"].to_list() == [None]


def test_addresses_that_trace_cmd_could_not_parse(tmp_path: Path) -> None:
    rest = ", 00" * 16
    line = (
        "          <idle>-0     [001] 35789.980000: tcp_probe:            [FAILED TO PARSE] "
        f"saddr=ARRAY[02, 00, 9c, 41, 0a, 00, 00, 01{rest}] "
        f"daddr=ARRAY[02, 00, 14, 51, 0a, 00, 00, 02{rest}] sport=40001 dport=5201 family=2 "
        "snd_nxt=0x1000 snd_cwnd=10 ssthresh=2147483647 srtt=22000 sock_cookie=7\n"
    )
    log = read(line, tmp_path)
    assert ends(log) == FOUR
    assert log.samples.select(pl.col("srtt_us", "snd_cwnd")).rows() == [(22000.0, 10)]
