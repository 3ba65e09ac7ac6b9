"""`struct prague` in icsk_ca_priv, per published tree, and how to tell which one a kernel has.

Offsets are x86_64 and arm64 (LP64, natural alignment). Trees, with the file net/ipv4/tcp_prague.c:
P0 dboru/linux@696e94e, P1 google/bbr@23cbf7e, P2 L4STeam/linux@02573a2, P3
minuscat/L4STeam_linux@07158d2, P4 L4STeam/tcp-prague@90aea47, P5 minuscat/l4steam-6.1.y@2d28070,
P6 minuscat/l4steam-6.6.y@1c07adc, P7 L4STeam/linux@893e147.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

PACKET = 1 << 20
"""CWND_UNIT: one packet in frac_cwnd, and ai_ack_increase's largest value."""
CWND_SLACK = 4
"""snd_cwnd follows ceil(frac_cwnd) by one packet an ACK, so the two may differ by a few."""

SIZES = {"u8": "<B", "u32": "<I", "u64": "<Q", "s64": "<q"}


@dataclass(frozen=True)
class Layout:
    """One published layout."""

    name: str
    alpha_bits: int
    size: int
    detector: bool
    """prague_classic_ecn_detection is in this tree."""
    initial_alpha: int | None
    """Alpha after prague_init: 1 or 0; None where a module parameter decides (P7)."""
    fields: Mapping[str, tuple[int, str]]
    """Field -> offset in bytes and type."""
    flags: tuple[tuple[str, int], ...]
    """Bit fields of the byte `bits`, lowest first: name and width."""


def _fields(text: str) -> dict[str, tuple[int, str]]:
    """`u64 cwr_stamp 0, ...` -> offset and type by name."""
    parts = (part.split() for part in text.split(","))
    return {name: (int(offset), kind) for kind, name, offset in parts}


_HEAD = "u64 cwr_stamp 0, u64 alpha_stamp 8, u64 upscaled_alpha 16, u64 ai_ack_increase 24, "
_OLD_TAIL = (
    "u32 loss_cwnd 48, u32 max_tso_burst 52, u32 rest_depth_us 56, u32 rest_mdev_us 60, "
    "u32 old_delivered 64, u32 old_delivered_ce 68, u32 next_seq 72, u32 round 76, "
    "u32 rtt_transition_delay 80, u32 rtt_target 84, u8 bits 88"
)
_MTU = "u32 mtu_cache 32, u64 hsrtt_us 40, "
_SHORT_TAIL = (
    "u64 frac_cwnd 48, u64 rate_bytes 56, u64 loss_rate_bytes 64, u32 loss_cwnd 72, "
    "u32 max_tso_burst 76, u32 old_delivered 80, u32 old_delivered_ce 84, u32 next_seq 88, "
    "u32 round 92, u8 bits 96"
)
_OLD_FLAGS = (("saw_ce", 1), ("rtt_indep", 3), ("in_loss", 1))
_MODE_FLAGS = (("saw_ce", 1), ("cwnd_mode", 1), ("in_loss", 1))

P0 = Layout(
    "P0",
    31,
    48,
    False,
    0,
    _fields(
        "u64 upscaled_alpha 0, u32 old_delivered 8, u32 old_delivered_ce 12, "
        "u32 acked_bytes_ecn 16, u32 acked_bytes_total 20, u32 prior_snd_una 24, "
        "u32 prior_rcv_nxt 28, u32 next_seq 32, u32 loss_cwnd 36, u32 max_tso_burst 40, u8 bits 44"
    ),
    (("saw_ce", 1),),
)
P1 = Layout(
    "P1",
    20,
    96,
    True,
    1,
    _fields(_HEAD + "s64 cwnd_cnt 32, s64 loss_cwnd_cnt 40, " + _OLD_TAIL),
    _OLD_FLAGS,
)
P2 = Layout(
    "P2",
    20,
    96,
    True,
    1,
    _fields(_HEAD + "u64 frac_cwnd 32, u64 loss_frac_cwnd 40, " + _OLD_TAIL),
    _OLD_FLAGS,
)
P3 = Layout(
    "P3",
    24,
    104,
    True,
    1,
    _fields(
        "u64 alpha_stamp 0, u64 upscaled_alpha 8, u64 ai_ack_increase 16, u64 frac_cwnd 24, "
        "u64 rate_bytes 32, u64 loss_frac_cwnd 40, u64 loss_rate_bytes 48, u32 loss_cwnd 56, "
        "u32 max_tso_burst 60, u32 rest_depth_us 64, u32 rest_mdev_us 68, u32 old_delivered 72, "
        "u32 old_delivered_ce 76, u32 next_seq 80, u32 round 84, u32 rtt_transition_delay 88, "
        "u32 rtt_target 92, u8 bits 96"
    ),
    _OLD_FLAGS,
)
P4 = Layout(
    "P4",
    24,
    128,
    True,
    0,
    _fields(
        _HEAD + _MTU + "u32 rate_offset 48, u64 frac_cwnd 56, u64 rate_bytes 64, "
        "u64 loss_rate_bytes 72, u32 loss_cwnd 80, u32 max_tso_burst 84, u32 rest_depth_us 88, "
        "u32 rest_mdev_us 92, u32 old_delivered 96, u32 old_delivered_ce 100, u32 next_seq 104, "
        "u32 round 108, u32 rtt_transition_delay 112, u32 rtt_target 116, u8 bits 120"
    ),
    (("saw_ce", 1), ("rtt_indep", 3), ("cwnd_mode", 1), ("in_loss", 1)),
)
P5 = Layout("P5", 24, 104, False, 1, _fields(_HEAD + _MTU + _SHORT_TAIL), _MODE_FLAGS)
P6 = Layout(
    "P6",
    24,
    120,
    False,
    1,
    _fields(
        _HEAD + _MTU + "u32 rate_offset 48, u64 frac_cwnd 56, u64 rate_bytes 64, "
        "u64 loss_rate_bytes 72, u32 loss_cwnd 80, u32 max_tso_burst 84, u32 old_delivered 88, "
        "u32 old_delivered_ce 92, u32 next_seq 96, u32 round 100, u32 rtt_transition_delay 104, "
        "u32 rtt_target 108, u8 bits 112"
    ),
    _MODE_FLAGS,
)
P7 = Layout(
    "P7",
    24,
    104,
    False,
    None,
    _fields(_HEAD + _MTU + _SHORT_TAIL),
    (("saw_ce", 1), ("alpha_mode", 1), ("cwnd_mode_transit", 1), ("cwnd_mode", 1), ("in_loss", 1)),
)
LAYOUTS = (P0, P1, P2, P3, P4, P5, P6, P7)

_OLD_PARAMETERS = {"burst_shift", "rtt_scaling", "rtt_target", "rtt_transition", "ecn_fallback"}
_NEW_PARAMETERS = {"burst_shift", "max_tso_segs", "rtt_target", "rtt_transition", "cwnd_transit"}


def by_parameters(names: Iterable[str]) -> tuple[Layout, ...]:
    """Layouts whose module has these parameters (/sys/module/tcp_prague/parameters).

    Sets are not unique: P1, P2 and P3 share one, P5 and P6 another. Empty when none is known.
    """
    has = {name.removeprefix("prague_") for name in names}
    if "shift_g" in has:
        return (P0,)
    if has >= {"ecn_fallback", "rate_offset"}:
        return (P4,)
    if has >= _OLD_PARAMETERS:
        return (P1, P2, P3) if "max_tso_segs" in has else (P1,)
    if has >= _NEW_PARAMETERS and "cwnd_mode" in has:
        return (P7,) if "alpha_mode" in has else (P5, P6)
    return ()


def by_btf(size: int, offsets: Mapping[str, int]) -> tuple[Layout, ...]:
    """Layouts with this size and these member offsets: what module BTF says of struct prague."""
    return tuple(
        layout
        for layout in LAYOUTS
        if layout.size == size
        and all(layout.fields[n][0] == at for n, at in offsets.items() if n in layout.fields)
        and all(n in layout.fields or _is_flag(layout, n) for n in offsets)
    )


def _is_flag(layout: Layout, name: str) -> bool:
    return any(name == flag for flag, _ in layout.flags)


def decode(layout: Layout, image: bytes) -> dict[str, int]:
    """Fields of ``image``, the first bytes of icsk_ca_priv; those beyond its end are left out."""
    out = {}
    for name, (offset, kind) in layout.fields.items():
        code = SIZES[kind]
        if offset + struct.calcsize(code) <= len(image):
            out[name] = struct.unpack_from(code, image, offset)[0]
    bits = out.pop("bits", None)
    shift = 0
    for name, width in layout.flags if bits is not None else ():
        out[name] = (bits >> shift) & ((1 << width) - 1)
        shift += width
    return out


def faults(layout: Layout, image: bytes, snd_cwnd: int, delivered: int) -> list[str]:
    """Why ``image`` cannot be this layout, by the socket's cwnd and delivered; empty if it can."""
    state = decode(layout, image)
    said = []
    if state.get("upscaled_alpha", 0) > 16 << layout.alpha_bits:
        said.append("alpha is above 1")
    frac = state.get("frac_cwnd")
    if frac is not None and abs(-(-frac // PACKET) - snd_cwnd) > CWND_SLACK:
        said.append("frac_cwnd is not near snd_cwnd")
    if (delivered - state.get("old_delivered", delivered)) % 2**32 >= 2**31:
        said.append("old_delivered is ahead of delivered")
    if state.get("ai_ack_increase", 0) > PACKET:
        said.append("ai_ack_increase is above one packet")
    return said


def plausible(
    layouts: Iterable[Layout], image: bytes, snd_cwnd: int, delivered: int
) -> tuple[Layout, ...]:
    """Those of ``layouts`` that the image of one socket does not contradict."""
    return tuple(c for c in layouts if not faults(c, image, snd_cwnd, delivered))
