"""Type information of old and new kernels (Documentation/bpf/btf.rst)."""

from __future__ import annotations

import struct

import pytest

from kernel import btf

STRINGS = b"\0big\0wide\0callback\0"
INT, STRUCT, PTR, FUNC_PROTO, NEW = 1, 4, 2, 13, 42


def one(kind: int, name: str, count: int, size: int, rest: bytes = b"") -> bytes:
    at = STRINGS.index(name.encode() + b"\0") if name else 0
    return struct.pack("<III", at, kind << 24 | count, size) + rest


def blob(types: bytes, layouts: bytes = b"") -> bytes:
    sizes = [0, len(types), len(types) + len(layouts), len(STRINGS)]
    head = [len(types), len(layouts)] if layouts else []
    length = 24 + 4 * len(head)
    header = struct.pack("<HBBI", 0xEB9F, 1, 0, length) + struct.pack("<4I", *sizes)
    return header + struct.pack(f"<{len(head)}I", *head) + types + layouts + STRINGS


INTEGER = one(INT, "", 0, 4, struct.pack("<I", 32))


def members(count: int) -> bytes:
    return struct.pack("<III", 0, 1, 0) * (count - 1) + struct.pack("<III", 5, 1, 32 * (count - 1))


def test_a_structure_may_have_more_than_65535_members() -> None:
    count = 70_000
    types = btf.Btf(blob(INTEGER + one(STRUCT, "big", count, 4 * count, members(count))))
    assert types.field("big", "wide") == (4 * (count - 1), 4, 0, 0)


def test_kinds_above_31_are_not_taken_for_others() -> None:
    """42 & 31 is 10, const: in five bits a new kind would be read as an old one."""
    types = blob(INTEGER + one(NEW, "", 1, 0, b"\xff" * 8))
    with pytest.raises(btf.NotBtfError, match="kind 42"):
        btf.Btf(types)


def test_a_kind_that_the_blob_describes_is_stepped_over() -> None:
    layouts = bytes(4 * NEW) + struct.pack("<BBH", 4, 8, 0)
    known = {1: (4, 0), 4: (0, 12)}
    layouts = b"".join(
        struct.pack("<BBH", *known.get(kind, (0, 0)), 0) for kind in range(NEW)
    ) + struct.pack("<BBH", 4, 8, 0)
    unknown = one(NEW, "", 2, 0, b"\xff" * 20)
    types = INTEGER + unknown + one(STRUCT, "big", 1, 4, members(1))
    assert btf.Btf(blob(types, layouts)).field("big", "wide") == (0, 4, 0, 0)


@pytest.mark.parametrize("count", [2, 4])
def test_the_arguments_of_a_callback_are_counted(count: int) -> None:
    member = struct.pack("<III", STRINGS.index(b"callback"), 2, 0)
    types = INTEGER + one(PTR, "", 0, 3)
    types += one(FUNC_PROTO, "", count, 0, struct.pack("<II", 0, 1) * count)
    types += one(STRUCT, "big", 1, 8, member)
    found = btf.Btf(blob(types))
    assert found.callback_parameters("big", "callback") == count
    assert found.callback_parameters("big", "wide") is None
