"""Layout of kernel structures from BTF (Documentation/bpf/btf.rst) of vmlinux and modules."""

import os
import struct

FOLDER = "/sys/kernel/btf"
MAGIC = 0xEB9F
HEADER = struct.Struct("<HBBIIIII")
TYPE = struct.Struct("<III")
INT, PTR, ARRAY, STRUCT, UNION, ENUM, FWD, TYPEDEF = 1, 2, 3, 4, 5, 6, 7, 8
VOLATILE, CONST, RESTRICT, FUNC, FUNC_PROTO, VAR, DATASEC = 9, 10, 11, 12, 13, 14, 15
TYPE_TAG = 18
KNOWN_KINDS = 19
KIND_MASK, VLEN_MASK = 0x7F, 0xFFFFFF
"""Masks for a type's info: 7 and 24 bits since Linux 7.2, 5 and 16 before, with zeros between
them."""
LAYOUT = struct.Struct("<BBxx")
"""struct btf_layout (Linux 7.2): bytes after a type of this kind, and bytes per member."""
EXTRA = {INT: (4, 0), ARRAY: (12, 0), STRUCT: (0, 12), UNION: (0, 12), ENUM: (0, 8)}
EXTRA.update({FUNC_PROTO: (0, 8), VAR: (4, 0), DATASEC: (0, 12), 17: (4, 0), 19: (0, 12)})
"""What follows a type: bytes, and bytes per member."""
THROUGH = {TYPEDEF, VOLATILE, CONST, RESTRICT, TYPE_TAG}
POINTER_BYTES = 8


class NotBtfError(ValueError):
    """The bytes are no BTF, or damaged."""


class Btf:
    """The types of one BTF blob; a module's blob continues the ids and strings of its base."""

    def __init__(self, blob, base=None):
        self.base = base
        self.first = base.end if base else 1
        self.strings_before = base.strings_end if base else 0
        try:
            self._read(blob)
        except struct.error as error:
            raise NotBtfError(str(error)) from error

    def _read(self, blob):
        magic, _, _, length, type_at, type_len, string_at, string_len = HEADER.unpack_from(blob)
        if magic != MAGIC:
            raise NotBtfError("magic %04x" % magic)
        self.blob = blob
        self.strings = length + string_at
        extra = {**EXTRA, **layouts(blob, length)}
        self.strings_end = self.strings_before + string_len
        at, end = length + type_at, length + type_at + type_len
        self.places, self.names = [], {}
        while at < end:
            name, info, _ = TYPE.unpack_from(blob, at)
            kind = info >> 24 & KIND_MASK
            if kind > KNOWN_KINDS and kind not in extra:
                raise NotBtfError("type of unknown kind %d" % kind)
            if kind in (STRUCT, UNION, ENUM, FUNC) and name:
                self.names.setdefault((kind, name), len(self.places) + self.first)
            self.places.append(at)
            fixed, each = extra.get(kind, (0, 0))
            at += TYPE.size + fixed + each * (info & VLEN_MASK)
        self.end = self.first + len(self.places)
        self.by_name = {
            (kind, self.text(name)): number for (kind, name), number in self.names.items()
        }

    def text(self, offset):
        """Return the string at an offset."""
        if offset < self.strings_before:
            return self.base.text(offset)
        start = self.strings + offset - self.strings_before
        return self.blob[start : self.blob.index(b"\0", start)].decode(errors="replace")

    def type(self, number):
        """Return (blob owner, place, name offset, info, size or type) of a type id."""
        if self.base and number < self.first:
            return self.base.type(number)
        place = self.places[number - self.first]
        return (self, place, *TYPE.unpack_from(self.blob, place))

    def find(self, kind, name):
        """Return the id of a named type, None without it."""
        number = self.by_name.get((kind, name))
        return self.base.find(kind, name) if number is None and self.base else number

    def resolve(self, number):
        """Return the id behind typedefs and qualifiers."""
        for _ in range(32):
            _, _, _, info, other = self.type(number)
            if info >> 24 & KIND_MASK not in THROUGH:
                break
            number = other
        return number

    def size(self, number):
        """Return the size of a type in bytes."""
        number = self.resolve(number)
        owner, place, _, info, size = self.type(number)
        kind = info >> 24 & KIND_MASK
        if kind == PTR:
            return POINTER_BYTES
        if kind == ARRAY:
            element, _, count = struct.unpack_from("<III", owner.blob, place + TYPE.size)
            return count * self.size(element)
        return size

    def members(self, number):
        """Yield (name, type, bit offset, bit size or 0) of a structure or union."""
        owner, place, _, info, _ = self.type(number)
        at = place + TYPE.size
        for _ in range(info & VLEN_MASK):
            name, kind, offset = TYPE.unpack_from(owner.blob, at)
            width = 0
            if info >> 31:
                offset, width = offset & 0xFFFFFF, offset >> 24
            yield owner.text(name), kind, offset, width
            at += 12

    def member(self, number, name):
        """Return (type, bit offset, bit size or 0) of a member, also inside unnamed members."""
        for own, kind, offset, width in self.members(number):
            if own == name:
                return kind, offset, width
            if not own:
                inner = self.resolve(kind)
                if self.type(inner)[3] >> 24 & KIND_MASK in (STRUCT, UNION):
                    found = self.member(inner, name)
                    if found:
                        return found[0], offset + found[1], found[2]
        return None

    def field(self, structure, path):
        """Return (byte offset, size, shift, bits) of `path` like `rtt_min.s`, None without it.

        Bits is 0 unless the field is a bit field; its byte is then the one that it starts in.
        """
        number = self.find(STRUCT, structure)
        at, width = 0, 0
        for name in path.split("."):
            if number is None:
                return None
            found = self.member(self.resolve(number), name)
            if not found:
                return None
            number, offset, width = found
            at += offset
        size = self.size(number)
        if width:
            return at // 8, 1, at % 8, width
        return at // 8, size, 0, 0

    def struct_size(self, name):
        number = self.find(STRUCT, name)
        return None if number is None else self.size(number)

    def enum(self, name, value):
        """Return the number of an enumerator, None without it."""
        number = self.find(ENUM, name)
        if number is None:
            return None
        owner, place, _, info, _ = self.type(number)
        for index in range(info & VLEN_MASK):
            label, worth = struct.unpack_from("<Ii", owner.blob, place + TYPE.size + 8 * index)
            if owner.text(label) == value:
                return worth
        return None

    def parameters(self, function):
        """Return the number of parameters of a function, None if it is not known."""
        number = self.find(FUNC, function)
        if number is None:
            return None
        return self.type(self.type(number)[4])[3] & VLEN_MASK

    def callback_parameters(self, structure, member):
        """Return the number of parameters of a function pointer in a structure, None without it."""
        number = self.find(STRUCT, structure)
        found = self.member(self.resolve(number), member) if number is not None else None
        if not found:
            return None
        pointer = self.resolve(found[0])
        if self.type(pointer)[3] >> 24 & KIND_MASK != PTR:
            return None
        _, _, _, info, _ = self.type(self.resolve(self.type(pointer)[4]))
        return info & VLEN_MASK if info >> 24 & KIND_MASK == FUNC_PROTO else None


def layouts(blob, length):
    """Return {kind: (bytes, bytes per member)} that the blob states itself, {} before Linux 7.2."""
    if length < HEADER.size + 8:
        return {}
    at, size = struct.unpack_from("<II", blob, HEADER.size)
    count = min(size // LAYOUT.size, KIND_MASK + 1)
    return {
        kind: LAYOUT.unpack_from(blob, length + at + LAYOUT.size * kind) for kind in range(count)
    }


def load(name="vmlinux", base=None, folder=FOLDER):
    """Return the BTF of the kernel or a module, None without it."""
    try:
        with open(os.path.join(folder, name), "rb") as file:
            return Btf(file.read(), base)
    except (OSError, NotBtfError):
        return None
