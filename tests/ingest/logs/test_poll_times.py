"""Times in logs of `ss`, in the ways that people's loops write them."""

from pathlib import Path

import polars as pl
import pytest

from l4strace.errors import InputError
from l4strace.ingest.logs import open_log, poll_times
from l4strace.redact.mask import Mask
from l4strace.redact.output import Folder
from l4strace.redact.run import redact

HEADER = "State Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n"
SECOND = 10**9
NOON = 1795694323 * SECOND
"""2026-11-26 11:58:43 UTC."""


def poll(cwnd: int) -> str:
    return (
        "ESTAB 0 205616 10.77.0.1:34684 10.77.0.2:5201\n"
        f"\t bbr wscale:10,10 rto:212 rtt:8.173/6.598 mss:1448 cwnd:{cwnd} ssthresh:136\n"
    )


def samples(text: str, folder: Path) -> list[tuple[int, int]]:
    """Time and cwnd of each sample of a log, which its redacted copy has too."""
    path = folder / "run.ss.txt"
    path.write_text(text)
    (copy,) = redact([str(path)], Folder(str(folder / "copies")), Mask(bytes(32)))
    assert not copy.left_out
    frames = [
        open_log.read(str(file)).samples.select("ts_ns", "snd_cwnd")
        for file in (path, folder / "copies" / path.name)
    ]
    assert frames[1].equals(frames[0])
    return frames[0].rows()


@pytest.mark.parametrize(
    ("line", "fraction"),
    [
        ("Thu Nov 26 11:58:43 UTC 2026", 0),
        ("Thu Nov 26 11:58:43 AM UTC 2026", 0),
        ("Thu 26 Nov 2026 11:58:43 AM UTC", 0),
        ("Thu, 26 Nov 2026 12:58:43 +0100", 0),
        ("Thu Nov 26 06:58:43 EST 2026", 0),
        ("2026-11-26 12:58:43.5+01:00", SECOND // 2),
        ("Time: 1795694323.25", SECOND // 4),
        ("=== 1795694323.25 ===", SECOND // 4),
        ("1795694323250", SECOND // 4),
        ("1795694323250000", SECOND // 4),
        ("t=1795694323250000001", SECOND // 4 + 1),
    ],
)
def test_styles_of_a_dated_time(line: str, fraction: int, tmp_path: Path) -> None:
    assert poll_times.since_1970(line) == NOON + fraction
    text = f"{line}\n{HEADER}{poll(7)}"
    assert samples(text, tmp_path) == [(NOON + fraction, 7)]


@pytest.mark.parametrize(
    "line",
    ["Thu Nov 31 11:58:43 UTC 2026", "Thu Nov 26 25:58:43 UTC 2026", "26 11 2026", "12345678"],
)
def test_what_is_no_time(line: str) -> None:
    assert poll_times.since_1970(line) is None
    assert poll_times.of_day(line) is None


def test_times_of_day_go_on_past_midnight_on_an_unknown_clock(tmp_path: Path) -> None:
    text = f"=== 23:59:59.926 ===\n{poll(7)}=== 00:00:00.926 ===\n{poll(8)}"
    (first, _), (second, cwnd) = samples(text, tmp_path)
    assert (second - first, cwnd) == (SECOND, 8)
    log = open_log.read(str(tmp_path / "run.ss.txt"))
    assert (log.clock, log.unix_offset_ns) == ("unknown", None)


def test_beside_dates_a_time_of_day_is_no_time(tmp_path: Path) -> None:
    text = f"12:58:43\n{1795694323}\n{poll(7)}12:58:44\n{poll(8)}"
    assert samples(text, tmp_path) == [(NOON, 7), (NOON, 8)]


def test_styles_may_change_within_a_log(tmp_path: Path) -> None:
    times = ["1795694323.5", "Thu Nov 26 11:58:44 UTC 2026", "1795694325000000000"]
    text = "".join(f"{time}\n{HEADER}{poll(n)}" for n, time in enumerate(times, 1))
    assert samples(text, tmp_path) == [
        (NOON + SECOND // 2, 1), (NOON + SECOND, 2), (NOON + 2 * SECOND, 3),
    ]  # fmt: skip


@pytest.mark.parametrize("held", [1 << 24, 1000])
@pytest.mark.parametrize("header", [HEADER, ""])
@pytest.mark.parametrize("between", ["---\n", ""])
def test_a_time_behind_each_poll_is_that_poll_s(
    held: int, header: str, between: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll_times, "BATCH_CHARS", held)
    polls = [f"{header}{poll(n)}\nTime: {1795694323 + n}.5\n{between}" for n in range(40)]
    expected = [(NOON + n * SECOND + SECOND // 2, n) for n in range(40)]
    assert samples("".join(polls) + header + poll(99), tmp_path) == expected


@pytest.mark.parametrize("begin", ["\t bbr cwnd:5\n", poll(5) + "---\n"])
def test_a_log_that_was_cut_before_its_first_time_still_has_it_first(
    begin: str, tmp_path: Path
) -> None:
    text = f"{begin}1795694323\n{poll(7)}---\n1795694324\n{poll(8)}"
    assert samples(text, tmp_path) == [(NOON, 7), (NOON + SECOND, 8)]


def test_without_any_time_the_error_names_the_command_that_adds_it(tmp_path: Path) -> None:
    path = tmp_path / "run.ss.txt"
    path.write_text((HEADER + poll(7)) * 3)
    with pytest.raises(InputError, match=r"without a time.*date \+%s.%N; ss -tinO"):
        open_log.read(str(path))


def test_the_alpha_of_dctcp_and_prague_as_reno(tmp_path: Path) -> None:
    dctcp = poll(7).replace("bbr", "dctcp").strip("\n") + (
        " dctcp:(ce_state:0,alpha:256,ab_ecn:0,ab_tot:32768)\n"
    )
    prague = poll(8).replace("bbr", "prague").strip("\n") + " prague:reno-fallback-mode\n"
    samples(f"1795694323\n{dctcp}{prague}", tmp_path)
    read = open_log.read(str(tmp_path / "copies" / "run.ss.txt")).samples
    rows = read.select("cc", pl.col("alpha").cast(pl.Float64)).rows()
    assert rows == [("dctcp", 0.25), ("prague-reno", None)]
