"""Strings and numbers that break careless programs: escapes, markup, forged lines, huge values."""

from __future__ import annotations

from random import Random
from typing import Any

MARK = "PWNED"
"""What stands in every hostile string, so that a test can look for what became of it."""
FORGED = "0     10.0.0.1:1 > 10.0.0.2:2"
"""A line of the table of flows, after a line end within a name."""
TEXTS = (
    f"\x1b[2J\x1b]0;{MARK}\x07",
    f"\x9b31m{MARK}",
    f"\u202e{MARK}\u202c",
    f"x\n{FORGED} {MARK}",
    f"x\r{MARK}",
    f"x\u2028{MARK}",
    f"</script><script>document.title='{MARK}'</script>",
    f"<img src=x onerror=\"document.title='{MARK}'\">",
    f"'\" onmouseover=document.title='{MARK}' x='",
    f"[{MARK}](javascript:alert(1))",
    f"`| {MARK} |\n|---|",
    f"{{{{7*7}}}}{{%{MARK}%}}",
    f"]]>&{MARK};<!--",
    f"$(touch {MARK});`touch {MARK}`",
    f"=cmd|'/C {MARK}'!A0",
    f"\ud800{MARK}",
    f"\x00{MARK}",
    MARK * 5000,
    "",
)
NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 255, 65535, 65536, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64,
    -(2**63), -(2**63) - 1, 10**30, 10**400, 3e10, 1e18, 1e308, -1e308, 5e-324, 0.5, -0.0,
    float("inf"), float("-inf"), float("nan"), True, False,
)  # fmt: skip


def nested(depth: int, braces: bool) -> Any:
    """A value that is ``depth`` levels deep."""
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if braces else [value]
    return value


def value(chance: Random) -> Any:
    """Any JSON value, seldom what the field wants."""
    kind = chance.randrange(8)
    if kind < 3:
        return chance.choice(NUMBERS)
    if kind < 6:
        return chance.choice(TEXTS)
    if kind == 6:
        return nested(chance.choice((1, 3, 70, 300)), chance.random() < 0.5)
    return chance.choice((None, [], {}, [None] * 9, {"": None}, ["a", {"b": 1}]))


def spoilt(tree: Any, chance: Random, odds: float) -> Any:
    """``tree`` with some of its values, keys and members replaced, dropped or doubled."""
    if chance.random() < odds:
        return value(chance)
    if isinstance(tree, dict):
        kept = {}
        for key, item in tree.items():
            if chance.random() < odds / 2:
                continue
            name = chance.choice(TEXTS) if chance.random() < odds / 4 else key
            kept[name] = spoilt(item, chance, odds)
        return kept
    if isinstance(tree, list):
        return [spoilt(item, chance, odds) for item in tree]
    return tree


def damaged(data: bytes, chance: Random) -> bytes:
    """``data`` with bytes changed, lines doubled or dropped, or its end cut."""
    out = bytearray(data)
    for _ in range(chance.choice((0, 0, 1, 3, 20))):
        if out:
            out[chance.randrange(len(out))] = chance.choice((0, 10, 27, 34, 92, 123, 255, 48))
    if chance.random() < 0.2 and out:
        at = chance.randrange(len(out))
        out[at:at] = chance.choice((b"[" * 3000, b'{"a":' * 3000, b"\xff\xfe", b"9" * 6000))
    if chance.random() < 0.2:
        del out[chance.randrange(len(out) + 1) :]
    return bytes(out)
