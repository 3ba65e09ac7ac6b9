"""Times in logs of `ss` or `tc`: in whatever way a loop writes them, before or after each poll.

A line of its own: seconds, milliseconds, microseconds or nanoseconds since 1970, ISO 8601, what
`date` prints, or a time of day; with `# `, `t=`, `Time: `, `===` and the like around it. Seconds
since 1970 may also precede every line, as moreutils' `ts '%.s'` writes. A zone without a known
offset counts as UTC. Times of day count where no line has a date: their day is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone

import polars as pl

from l4strace.ingest.logs.blocks import blocks
from l4strace.ingest.logs.samples import Log

BEFORE = r"^[-=#*\s]*(?:(?i:time|date|timestamp|t|ts)\s*[:=]\s*)?"
AFTER = r"[-=#*\s]*$"
OF_DAY = r"\d{1,2}:\d\d:\d\d(?:[.,]\d{1,9})?"
EPOCH = r"^(?:#\s*)?(?:t=)?(\d{9,10})(?:\.(\d+))?(?:\s+|$)"
"""Seconds before other text, as on every line of `ts`."""
ALONE = BEFORE + r"(\d{9,10})(?:[.,](\d{1,20}))?" + AFTER
FINE = BEFORE + r"(\d{13}|\d{16}|\d{19})" + AFTER
"""`date +%s%3N`, `%s%6N`, `%s%N`."""
DIGITS = 19
"""Digits of nanoseconds since 1970, from 2001 to 2286."""
ISO = BEFORE + r"(\d{4}-\d\d-\d\d)[T ](" + OF_DAY + r")\s*(Z|UTC|[+-]\d\d:?\d\d)?" + AFTER
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
MONTH = f"({'|'.join(MONTHS)})"
ZONE = r"([A-Z]{1,5}|[+-]\d\d:?\d\d)"
DATE = (
    BEFORE
    + r"(?:[A-Z][a-z]{2},?\s+)?(?:"
    + rf"{MONTH}\s+(\d{{1,2}})\s+({OF_DAY})(?:\s+(AM|PM))?(?:\s+{ZONE})?\s+(\d{{4}})"
    + rf"|(\d{{1,2}})\s+{MONTH}\s+(\d{{4}}),?\s+({OF_DAY})(?:\s+(AM|PM))?(?:\s+{ZONE})?"
    + ")"
    + AFTER
)
"""`Thu Nov 26 11:58:43 UTC 2026`, `Thu 26 Nov 2026 11:58:43 AM UTC`, `date -R`."""
TIME_OF_DAY = BEFORE + f"({OF_DAY})" + AFTER
SEPARATOR = r"^\s*[-=#*]{3,}\s*$"
LINE = "|".join(f"(?:{pattern})" for pattern in (ALONE, FINE, ISO, DATE, TIME_OF_DAY))
"""A line that holds a time and nothing else."""
TIME_LINE = re.compile(rf"\A(?:{EPOCH}|{LINE})")
BATCH_CHARS = 1 << 24
"""Most text that is held before its complete polls are parsed: about 10,000 polls of `ss`."""
HOURS = {
    "WET": 0, "WEST": 1, "CET": 1, "CEST": 2, "EET": 2, "EEST": 3, "MSK": 3, "BST": 1,
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "JST": 9, "KST": 9, "AEST": 10, "AEDT": 11,
}  # fmt: skip
"""Zone as `date` names it -> hours ahead of UTC."""
DAY_NS = 86_400 * 10**9
EPOCH_BEGINS = datetime(1970, 1, 1, tzinfo=timezone.utc)


def since_1970(line: str) -> int | None:
    """Nanoseconds since 1970 of a line that is a time with its date; null for any other."""
    if found := re.match(ALONE, line):
        return int(found[1]) * 10**9 + _fraction_ns(found[2])
    if found := re.match(FINE, line):
        return int(found[1].ljust(DIGITS, "0"))
    if found := re.match(ISO, line):
        return _ns(found[1], found[2], None, found[3])
    if found := re.match(DATE, line):
        late = found[7] is not None
        day, name, year = (found[7], found[8], found[9]) if late else (found[2], found[1], found[6])
        day = f"{year}-{MONTHS.index(name) + 1:02}-{int(day):02}"
        return _ns(day, *((found[10], found[11], found[12]) if late else found.group(3, 4, 5)))
    return None


def of_day(line: str) -> int | None:
    """Nanoseconds since midnight of a line that is a time of day; null for any other."""
    found = re.match(TIME_OF_DAY, line)
    return None if found is None else _since_midnight(found[1], None)


def _ns(day: str, of_day: str, half: str | None, zone: str | None) -> int | None:
    since = _since_midnight(of_day, half)
    try:
        date = datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=timezone.utc)
    except ValueError:
        return None
    if since is None:
        return None
    return (date - EPOCH_BEGINS - _ahead(zone)) // timedelta(microseconds=1) * 1000 + since


def _ahead(zone: str | None) -> timedelta:
    """How far a zone is ahead of UTC."""
    if zone and zone[0] in "+-":
        ahead = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        return -ahead if zone[0] == "-" else ahead
    return timedelta(hours=HOURS.get(zone or "", 0))


def _since_midnight(text: str, half: str | None) -> int | None:
    hours, minutes, seconds = text.replace(",", ".").split(":")
    whole, _, fraction = seconds.partition(".")
    hour = int(hours) if half is None else int(hours) % 12 + 12 * (half == "PM")
    if hour > 23 or int(minutes) > 59 or int(whole) > 60:
        return None
    return ((hour * 60 + int(minutes)) * 60 + int(whole)) * 10**9 + _fraction_ns(fraction)


def _fraction_ns(digits: str | None) -> int:
    return int((digits or "")[:9].ljust(9, "0"))


def times_follow(text: str, begins: re.Pattern[str]) -> bool:
    """Whether the time of a poll stands behind it, as in flent's loop.

    Then a whole poll precedes the first time, and what separates polls does not. ``begins`` matches
    a line that a poll may begin with.
    """
    before = ""
    polled = False
    for line in text.split("\n"):
        if TIME_LINE.match(line):
            return polled and not re.match(SEPARATOR, before)
        if line.strip():
            # A log that was cut may begin anywhere in a poll.
            if not before and not begins.match(line):
                return False
            polled = True
            before = line
    return False


def whole_polls(
    path: str, log: Log, begins: re.Pattern[str], complete: Callable[[str], int]
) -> Iterator[tuple[bool, str]]:
    """Whether times follow their polls, and text that ends between two polls, again and again.

    Where times come first, ``complete`` says how much of a text is whole.
    """
    held, follow = "", None
    for block in blocks(path, log, BATCH_CHARS // 16):
        held += bytes(block).decode("utf-8", "replace")
        if len(held) >= BATCH_CHARS:
            follow = times_follow(held, begins) if follow is None else follow
            end = _last_time(held) if follow else complete(held)
            yield follow, held[:end]
            held = held[end:]
    if held:
        yield times_follow(held, begins) if follow is None else follow, held


def _last_time(held: str) -> int:
    """Length up to the end of the last line that is a time; all whole lines without one."""
    end = whole = held.rfind("\n") + 1 or len(held)
    while end:
        begin = held.rfind("\n", 0, end - 1) + 1
        if TIME_LINE.match(held[begin : end - 1]):
            return end
        end = begin
    return whole


class Clock:
    """Times of one log, block by block."""

    def __init__(self, after: bool) -> None:
        self.after = after
        """Each poll's time stands behind it."""
        self.dated = False
        self._last_ns: int | None = None
        self._midnight_ns = 0
        self._of_day_ns: int | None = None

    def timed(self, block: str) -> pl.DataFrame:
        """Lines that are no times, each with its time (`ts_ns`), which may be null."""
        line = pl.col("line")
        frame = pl.DataFrame({"line": block.split("\n")}).filter(line.str.strip_chars() != "")
        fraction = line.str.extract(EPOCH, 2).fill_null("").str.pad_end(9, "0").str.head(9)
        prefix = (line.str.extract(EPOCH, 1) + fraction).cast(pl.Int64, strict=False)
        frame = frame.select(prefix=prefix, line=line.str.replace(EPOCH, "")).with_row_index("at")
        self.dated |= frame["prefix"].null_count() < frame.height
        alone = frame.filter(line.str.contains(LINE))
        own = alone.select("at", own=self._own(alone["line"]))
        filled = pl.coalesce("prefix", "own")
        filled = filled.backward_fill() if self.after else filled.forward_fill()
        frame = frame.join(own, on="at", how="left", maintain_order="left").with_columns(
            ts_ns=filled if self.after else filled.fill_null(pl.lit(self._last_ns, dtype=pl.Int64))
        )
        if frame.height:
            self._last_ns = frame["ts_ns"][-1]
        shown = (line.str.strip_chars() != "") & ~line.str.contains(f"{LINE}|{SEPARATOR}")
        return frame.filter(shown).select("ts_ns", "line")

    def _own(self, lines: pl.Series) -> pl.Series:
        """Time of each line that is one; null for a time of day beside dates."""
        dated = lines.map_elements(since_1970, pl.Int64)
        if dated.null_count() == dated.len() and not self.dated:
            return self._days(lines.map_elements(of_day, pl.Int64))
        self.dated |= dated.null_count() < dated.len()
        return dated

    def _days(self, since: pl.Series) -> pl.Series:
        """Times of day -> times that go on past midnight."""
        times: list[int | None] = []
        for value in since:
            if value is not None:
                before = self._of_day_ns
                self._midnight_ns += DAY_NS * (before is not None and value < before - DAY_NS // 2)
                self._of_day_ns = value
            times.append(None if value is None else self._midnight_ns + value)
        return pl.Series(times, dtype=pl.Int64)
