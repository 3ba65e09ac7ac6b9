"""Ring-buffer pages of one CPU, as trace_pipe_raw hands them out (include/linux/ring_buffer.h)."""

import os
import re
import struct

PAGE = 65536
"""Read size: at least the kernel's sub-buffer; a read returns one of them."""
PAGES_PER_READ = 64
"""Pages taken from one CPU before the next one gets its turn."""
COMMIT_MASK = (1 << 27) - 1
"""Above it the kernel keeps flags for missed events (RB_MISSED_EVENTS, RB_MISSED_STORED)."""
PADDING, TIME_EXTEND, TIME_STAMP = 29, 30, 31
ABSOLUTE_BITS = 59
HEADER = struct.Struct("=QQ")
WORD = struct.Struct("=I")
EVENT_ID = struct.Struct("=H")


def events_of_page(page):
    """Yield (time in ns, event id, offset of its fields) of every event of one page.

    Lengths come from the kernel but are checked all the same: a page that does not add up ends.
    """
    now, commit = HEADER.unpack_from(page)
    at, end = HEADER.size, min(HEADER.size + (commit & COMMIT_MASK), len(page))
    word_at, id_at = WORD.unpack_from, EVENT_ID.unpack_from
    while at + 4 <= end:
        (word,) = word_at(page, at)
        kind, delta = word & 31, word >> 5
        if 0 < kind < PADDING:
            now += delta
            yield now, id_at(page, at + 4)[0], at + 4
            at += 4 + 4 * kind
            continue
        if (kind == PADDING and delta == 0) or at + 8 > end:
            return
        (array,) = word_at(page, at + 4)
        if kind == 0:
            now += delta
            yield now, id_at(page, at + 8)[0], at + 8
            at += 4 + (array + 3 & ~3)
        elif kind == PADDING:
            now += delta
            at += 4 + (array + 3 & ~3)
        else:
            stamp = delta + (array << 27)
            now = absolute(stamp, now) if kind == TIME_STAMP else now + stamp
            at += 8


def absolute(stamp, before):
    """Give a 59-bit absolute timestamp the upper bits of the time before it."""
    full = stamp | before >> ABSOLUTE_BITS << ABSOLUTE_BITS
    return full if full >= before - (1 << (ABSOLUTE_BITS - 1)) else full + (1 << ABSOLUTE_BITS)


class Buffer:
    """The buffer of one CPU of a trace instance."""

    def __init__(self, instance, cpu):
        folder = os.path.join(instance, "per_cpu/cpu%d" % cpu)
        self.file = os.open(os.path.join(folder, "trace_pipe_raw"), os.O_RDONLY | os.O_NONBLOCK)
        self.stats = os.path.join(folder, "stats")
        self.lost = 0

    def read(self, by_id, lines):
        """Append (time, line, kind) of the waiting events; return whether there may be more."""
        for _ in range(PAGES_PER_READ):
            try:
                page = os.read(self.file, PAGE)
            except BlockingIOError:
                return False
            if not page:
                return False
            for now, number, at in events_of_page(page):
                event = by_id.get(number)
                line = event and event.line(now, page, at)
                if line:
                    lines.append((now, line, event.event))
        return True

    def newly_lost(self):
        """Return how many events this CPU lost since the last call: overwritten, or no room."""
        with open(self.stats) as file:
            text = file.read()
        found = re.findall(r"^(overrun|commit overrun|dropped events): (\d+)", text, re.M)
        total = sum(int(number) for _, number in found)
        new, self.lost = total - self.lost, total
        return new

    def close(self):
        os.close(self.file)
