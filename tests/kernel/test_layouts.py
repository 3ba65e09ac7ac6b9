"""Published layouts of struct prague."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from kernel import prague_layouts
from l4strace.kernel import layouts
from l4strace.kernel.layouts import LAYOUTS, P1, P2, P4, P5, P7, Layout

SIZES = {"P0": 48, "P1": 96, "P2": 96, "P3": 104, "P4": 128, "P5": 104, "P6": 120, "P7": 104}
OLD = ["burst_shift", "rtt_scaling", "rtt_target", "rtt_transition", "ecn_fallback"]
NEW = ["burst_shift", "max_tso_segs", "rtt_target", "rtt_transition", "cwnd_mode", "cwnd_transit"]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_fields_are_aligned_apart_and_inside(layout: Layout) -> None:
    assert layout.size == SIZES[layout.name]
    end = 0
    for offset, kind in sorted(layout.fields.values()):
        size = struct.calcsize(layouts.SIZES[kind])
        assert offset % size == 0
        assert offset >= end
        end = offset + size
    assert layout.size - 8 < end <= layout.size


def image(layout: Layout, **values: int) -> bytes:
    data = bytearray(layout.size)
    for name, value in values.items():
        offset, kind = layout.fields[name]
        struct.pack_into(layouts.SIZES[kind], data, offset, value)
    return bytes(data)


def test_decode_splits_the_flags() -> None:
    state = layouts.decode(P4, image(P4, upscaled_alpha=7, rest_mdev_us=9, bits=0b100011))
    assert (state["upscaled_alpha"], state["rest_mdev_us"]) == (7, 9)
    assert (state["saw_ce"], state["rtt_indep"]) == (1, 1)
    assert (state["cwnd_mode"], state["in_loss"]) == (0, 1)
    assert "frac_cwnd" not in layouts.decode(P4, bytes(40))


def test_published_bpftrace_reads_the_carry_of_p4_at_word_11() -> None:
    assert (P4.fields["rest_depth_us"][0], P4.fields["rest_mdev_us"][0]) == (88, 92)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["shift_g", "ect"], ["P0"]),
        (OLD, ["P1"]),
        ([f"prague_{name}" for name in [*OLD, "max_tso_segs"]], ["P1", "P2", "P3"]),
        ([*OLD, "max_tso_segs", "rate_offset", "cwnd_transit"], ["P4"]),
        ([*NEW, "rate_offset"], ["P5", "P6"]),
        ([*NEW, "alpha_mode"], ["P7"]),
        (["unrelated"], []),
    ],
)
def test_parameters_narrow_the_choice(names: list[str], found: list[str]) -> None:
    assert [layout.name for layout in layouts.by_parameters(names)] == found


def test_values_contradict_a_wrong_layout() -> None:
    real = image(
        P2, upscaled_alpha=16 << 20, frac_cwnd=12 << 20, old_delivered=90, ai_ack_increase=1 << 20
    )
    assert P2 in layouts.plausible(LAYOUTS, real, snd_cwnd=12, delivered=100)
    assert P7 not in layouts.plausible(LAYOUTS, real, snd_cwnd=12, delivered=100)
    assert "alpha is above 1" in layouts.faults(P1, image(P1, upscaled_alpha=17 << 20), 12, 100)


def test_collectors_read_the_same_offsets() -> None:
    """They import nothing from here, so the two lists can part: they must not."""
    for layout in LAYOUTS[1:]:
        offsets = {name: offset for name, (offset, _) in layout.fields.items()}
        assert prague_layouts.offsets(layout.name) == offsets
        assert prague_layouts.ALPHA_BITS[layout.name] == layout.alpha_bits


@pytest.mark.lab
@pytest.mark.parametrize(("run", "name"), [("a", "P2"), ("o", "P1"), ("s", "P7")])
def test_lab_kernels_have_published_layouts(shared_data: Path, run: str, name: str) -> None:
    manifest = json.loads((shared_data / f"lab/{run}/manifest.json").read_text())
    offsets = manifest["struct_offsets"]["prague"]
    flags = manifest["struct_offsets"]["prague_flags_byte"]
    members = {n: at for n, at in offsets.items() if at != flags}
    size = {"P2": 96, "P1": 96, "P7": 104}[name]
    found = layouts.by_btf(size, members)
    assert name in [layout.name for layout in found]
    assert all(layout in (P1, P2, P5, P7) for layout in found)
    assert {n: at for n, at in offsets.items() if at == flags}.keys() <= {
        flag for layout in found if layout.name == name for flag, _ in layout.flags
    }
