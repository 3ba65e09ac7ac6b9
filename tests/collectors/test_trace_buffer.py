"""Pages of the kernel's ring buffer, made by hand (include/linux/ring_buffer.h)."""

from __future__ import annotations

import struct

from kernel import trace_buffer

EVENT = 77


def page(*events: bytes, now: int = 1_000_000, flags: int = 0) -> bytes:
    body = b"".join(events)
    return (struct.pack("=QQ", now, len(body) | flags) + body).ljust(4096, b"\0")


def word(kind: int, delta: int) -> bytes:
    return struct.pack("=I", kind | delta << 5)


def small(delta: int, length: int = 8) -> bytes:
    return word(length // 4, delta) + struct.pack("=H", EVENT).ljust(length, b"x")


def large(delta: int, length: int = 136) -> bytes:
    return (
        word(0, delta)
        + struct.pack("=I", length + 4)
        + struct.pack("=H", EVENT).ljust(length, b"y")
    )


def times(data: bytes) -> list[int]:
    return [now for now, number, _ in trace_buffer.events_of_page(data) if number == EVENT]


def test_events_of_both_lengths_follow_each_other() -> None:
    data = page(small(5), large(10), small(7))
    assert times(data) == [1_000_005, 1_000_015, 1_000_022]
    places = [at for _, _, at in trace_buffer.events_of_page(data)]
    assert all(data[at : at + 2] == struct.pack("=H", EVENT) for at in places)


def test_a_time_extend_adds_to_the_time() -> None:
    extend = word(trace_buffer.TIME_EXTEND, 3) + struct.pack("=I", 2)
    assert times(page(small(0), extend, small(1))) == [1_000_000, 1_000_000 + 3 + (2 << 27) + 1]


def test_an_absolute_stamp_replaces_the_time_but_for_its_top_bits() -> None:
    now = (3 << 59) + 500
    stamp = 900
    absolute = word(trace_buffer.TIME_STAMP, stamp) + struct.pack("=I", 0)
    assert times(page(absolute, small(2), now=now)) == [(3 << 59) + 902]


def test_padding_ends_a_page_or_is_stepped_over() -> None:
    discarded = word(trace_buffer.PADDING, 4) + struct.pack("=I", 12) + b"\0" * 8
    assert times(page(small(1), discarded, small(2))) == [1_000_001, 1_000_007]
    rest = word(trace_buffer.PADDING, 0)
    assert times(page(small(1), rest, small(2))) == [1_000_001]


def test_flags_of_missed_events_are_not_part_of_the_length() -> None:
    assert times(page(small(1), flags=1 << 31)) == [1_000_001]
    assert times(page(small(1), flags=1 << 30 | 1 << 31)) == [1_000_001]


def test_a_page_that_does_not_add_up_ends_early() -> None:
    wild = word(0, 1) + struct.pack("=I", 0xFFFFFFF0)
    assert times(page(small(1), wild))[:1] == [1_000_001]
    assert times(struct.pack("=QQ", 1, 4000) + small(1)) == [2]
