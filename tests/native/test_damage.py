"""Nothing breaks the decoder: one clear line, or what could be read."""

import os
import random
import resource
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from l4strace.core import _native
from l4strace.errors import InputError
from tests.support import files
from tests.support.wrappings import FRAME, TUNNELS, ethernet, outer_v4

PCAP = files.pcap([FRAME] * 4)
PCAPNG = (
    files.section(comment="<script>alert(1)</script>")
    + files.interface(snaplen=2000, options=files.option(9, bytes([9])))
    + b"".join(files.enhanced(FRAME, n, options=files.option(4, bytes(8))) for n in range(4))
    + files.block(5, struct.pack("<III", 0, 0, 0) + files.option(5, struct.pack("<Q", 17)))
)
TUNNELLED = files.pcap([ethernet(outer_v4(*wrap(FRAME[14:]), 1)) for _, wrap in TUNNELS.values()])


def _read(path: Path) -> int:
    """Packets read, or -1 for a file that is refused with one line."""
    try:
        return files.packets(path).height
    except InputError as error:
        text = str(error)
        assert text.startswith(str(path))
        assert "\n" not in text
        return -1


@pytest.mark.parametrize("content", [PCAP, PCAPNG, TUNNELLED], ids=["pcap", "pcapng", "tunnels"])
def test_every_prefix_is_read_up_to_the_cut(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cut.pcap"
    counts = []
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        counts.append(_read(path))
    assert counts == sorted(counts)
    assert counts[0] == -1
    assert counts[-1] >= 4


@pytest.mark.parametrize("content", [PCAP, PCAPNG, TUNNELLED], ids=["pcap", "pcapng", "tunnels"])
def test_flipped_bytes_never_break_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "flipped.pcap"
    random_ = random.Random(5)
    for _ in range(2000):
        damaged = bytearray(content)
        for _ in range(random_.randint(1, 8)):
            damaged[random_.randrange(len(damaged))] = random_.choice(
                (0, 1, 0x7F, 0x80, 0xFF, 0x45)
            )
        path.write_bytes(damaged)
        assert -1 <= _read(path) <= 12


def _unreadable(folder: Path) -> Iterator[tuple[Path, str]]:
    text = folder / "notes.txt"
    text.write_text("just some notes, longer than a file header\n")
    yield text, "text"
    empty = folder / "empty.pcap"
    empty.touch()
    yield empty, "empty"
    yield folder, "directory"
    yield folder / "absent.pcap", "no such file"
    script = folder / "<script>alert(1)<"
    script.write_bytes(b"\x7fELF" + bytes(100))
    yield script, "not a pcap"


def test_what_is_no_capture_is_refused_with_one_line(tmp_path: Path) -> None:
    for path, word in _unreadable(tmp_path):
        with pytest.raises(InputError, match=word) as caught:
            _native.decode(str(path))
        assert "\n" not in str(caught.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret.pcap"
    path.write_bytes(PCAP)
    path.chmod(0)
    with pytest.raises(InputError, match="permission denied"):
        _native.decode(str(path))


@pytest.mark.parametrize("start", [b"", PCAP, PCAPNG], ids=["all zero", "pcap", "pcapng"])
def test_a_sparse_file_of_20_gigabytes_costs_nothing(tmp_path: Path, start: bytes) -> None:
    path = tmp_path / "sparse.pcap"
    path.write_bytes(start)
    try:
        os.truncate(path, 20 << 30)
    except OSError:
        pytest.skip("the file system holds no sparse file of that size")
    before = resource.getrusage(resource.RUSAGE_SELF)
    assert _read(path) == (4 if start else -1)
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert after.ru_utime - before.ru_utime < 2
    assert after.ru_maxrss - before.ru_maxrss < 50_000


def test_a_compressed_file_that_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    packed = tmp_path / "run.pcap.zst"
    plain = files.pcap([FRAME + random.Random(n).randbytes(400) for n in range(1000)])
    whole = files.zst(plain)
    packed.write_bytes(whole[: len(whole) // 2])
    assert 0 < _native.decode(str(packed)) < 1000
    chunks = _native.read_text(str(packed))
    assert 0 < len(b"".join(chunks)) < len(plain)
    assert chunks.error
