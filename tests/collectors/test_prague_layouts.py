"""Every layout P1..P7, from an image of memory and from BTF of its struct (issue: point 3)."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest

from collectors.prague_structs import STRUCTS, image, source, values
from kernel import btf, offsets, prague_layouts, samples

BUILDS = sorted(STRUCTS)
P5_IS = "P7"
"""P5 and P7 differ in the bit field only, which holds no field that we read."""


def btf_of(text: str, folder: Path) -> btf.Btf:
    """Compile C and take the .BTF section out of the object file."""
    (folder / "t.c").write_text(text)
    done = subprocess.run(
        ["clang", "-g", "-O2", "-target", "bpf", "-c", "t.c", "-o", "t.o"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return btf.Btf(section((folder / "t.o").read_bytes(), b".BTF"))


def section(elf: bytes, wanted: bytes) -> bytes:
    """One section of a 64-bit little-endian ELF file."""
    table, size, count, names = struct.unpack_from("<Q10xHHH", elf, 40)
    rows = [struct.unpack_from("<II8x8xQQ", elf, table + size * i) for i in range(count)]
    strings = rows[names][2]
    for name, _, at, length in rows:
        begin = strings + name
        if elf[begin : elf.index(b"\0", begin)] == wanted:
            return elf[at : at + length]
    raise AssertionError(f"no section {wanted!r}")


@pytest.mark.parametrize("name", BUILDS)
def test_an_image_of_memory_is_decoded(name: str) -> None:
    state = samples.prague_state(image(name, saw_ce=True), prague_layouts.layout(name, "given"))
    assert state.pop("saw_ce") is True
    assert state == values(name)


@pytest.mark.parametrize("name", BUILDS)
def test_saw_ce_is_read_from_its_bit(name: str) -> None:
    layout = prague_layouts.layout(name, "given")
    assert samples.prague_state(image(name, saw_ce=False), layout)["saw_ce"] is False


@pytest.mark.needs("clang")
@pytest.mark.parametrize("name", BUILDS)
def test_btf_gives_the_same_offsets(name: str, tmp_path: Path) -> None:
    found = offsets.prague_from_btf(btf_of(source(name), tmp_path))
    assert found is not None
    assert found["offsets"] == prague_layouts.offsets(name)
    assert found["size"] == prague_layouts.TOTALS[name]
    assert found["found"] == "btf"
    assert found["name"] == (P5_IS if name == "P5" else name)
    assert found["alpha_bits"] is None, "a macro is in no type information"


@pytest.mark.needs("clang")
def test_a_build_that_nobody_published_is_read_by_its_btf(tmp_path: Path) -> None:
    text = source("P4").replace("u32 mtu_cache;", "u64 something_new; u32 mtu_cache;")
    found = offsets.prague_from_btf(btf_of(text, tmp_path))
    assert found is not None
    assert (found["name"], found["alpha_bits"]) == ("btf", None)
    assert found["offsets"]["frac_cwnd"] == prague_layouts.offsets("P4")["frac_cwnd"] + 8


PARAMETERS = {
    "P1": "burst_shift rtt_scaling rtt_target rtt_transition ecn_fallback max_tso_segs",
    "P4": "burst_shift max_tso_segs rtt_scaling rtt_target rtt_transition ecn_fallback "
    "rate_offset cwnd_transit",
    "P6": "burst_shift max_tso_segs rtt_target rtt_transition rate_offset cwnd_mode cwnd_transit",
    "P7": "burst_shift max_tso_segs rtt_transition rtt_target alpha_mode cwnd_mode cwnd_transit",
}


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        (PARAMETERS["P1"], ["P3", "P2", "P1"]),
        (PARAMETERS["P4"], ["P4"]),
        (PARAMETERS["P6"], ["P6", "P5"]),
        (PARAMETERS["P7"], ["P7"]),
        ("shift_g ect ecn_plus_plus", []),
    ],
)
def test_parameters_name_the_candidates(parameters: str, expected: list[str]) -> None:
    names = [f"prague_{word}" for word in parameters.split()]
    assert prague_layouts.candidates(names) == expected
