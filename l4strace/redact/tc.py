"""Logs of `tc -s qdisc`: times, numbers and known words stay; interfaces become other names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from l4strace.redact import words
from l4strace.redact.lines import of_text
from l4strace.redact.mask import Mask
from l4strace.redact.ss import time_line
from l4strace.redact.words import vocabulary

WORD = re.compile(r"[\w.@:-]*[A-Za-z_][\w.@:-]*")
AMOUNT = re.compile(rf"{words.NUMBER.pattern}|\d+(?:pkt|p|b)|[0-9a-f]{{0,4}}:[0-9a-f]{{0,4}}")
"""A number with its unit, a handle."""
KNOWN = (
    words.KEYS
    | words.VALUES
    | vocabulary("""
    qdisc dev refcnt Sent pkt dropped peakrate mpu lat linklayer ethernet atm marked early
    pdrop other maxpacket drop_overlimit count lastcount ldelay dropping drop_next bands priomap
    weights any_ect l4s_ect no_split_gso drop_enqueue drop_dequeue no_drop_on_overload max of
    memory used C L ce_mark highprio throttle flows_plimit pkts_in overlimit avg_dq_rate lo
""")
)


def redacted(blocks: Iterable[bytes], mask: Mask) -> Iterator[bytes]:
    """Blocks of whole lines -> the same with every name masked that is not well known."""
    return of_text(blocks, lambda line: _line(line, mask))


def _line(line: str, mask: Mask) -> str:
    return time_line(line) or WORD.sub(lambda word: _word(word[0], mask), line)


def _word(text: str, mask: Mask) -> str:
    return text if text in KNOWN or AMOUNT.fullmatch(text) else mask.name(text)
