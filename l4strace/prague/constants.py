"""Prague's constants, as the native core compiles them (net/ipv4/tcp_prague.c, by its names).

What `_native.prague_builds` does not export stands in MISSING, and nowhere else in Python.
"""

from __future__ import annotations

from typing import Any

from l4strace.core import _native

MISSING: dict[str, Any] = {
    "v0_lg": 10_014_683 >> 1,  # V0_LG of the 20-bit build: log2(750 us) / 2 with 20 fraction bits
    "mdev_reference_us": 750.0,  # what V0_LG means: "reference queue V of ~750us"
    "depth_reference_us": 2000.0,  # what D0_LG means: "reference queue D of ~2ms"
    "alpha_floor": 0.625,  # prague_classic_ecn_fallback: (c >> 1) + (c >> 3) of one point c
    "published_bits": (20, 24, 31),  # PRAGUE_ALPHA_BITS of P1 and P2, P3 to P7, P0
    "min_cwnd": 2,  # MIN_CWND
    "frac_cwnd_unit": 1 << 20,  # CWND_UNIT
    "shift_g": 4,  # PRAGUE_SHIFT_G
    "rtt_transition": 500,  # DEFAULT_RTT_TRANSITION of P1 to P3; 4 from P4 on
    "max_srtt_bits": 18,  # PRAGUE_MAX_SRTT_BITS
}
"""Constants that the native core may lack, by its keys; the core's own values win."""

BUILDS: dict[str, dict[str, Any]] = {
    str(build["name"]): {**MISSING, **build} for build in _native.prague_builds()
}
"""Every published build that has the detector, by name, in the order of the replay's columns."""

_RIGHT = BUILDS["20-bit"]
"""The build whose references mean what its comments state."""
_UNIT = 1 << int(_RIGHT["bits"])

SCALABLE_THRESHOLD: float = _RIGHT["l_sticky"] / _UNIT
"""8 (L_STICKY): up to this score Prague treats the path as L4S."""
CLASSIC_THRESHOLD: float = _RIGHT["classic_ecn"] / _UNIT
"""9 (CLASSIC_ECN): from this score on the floor under alpha is whole."""
SCORE_MAX: float = _RIGHT["c_sticky"] / _UNIT
"""17 (C_STICKY): upper end of the score."""

MDEV_REFERENCE_US = float(round(_RIGHT["mdev_reference_us"]))
"""750 us: RTT mean deviation above which the score rises (V0_LG)."""
DEPTH_REFERENCE_US = float(round(_RIGHT["depth_reference_us"]))
"""2000 us: queue depth (srtt - min_rtt) above which it rises faster (D0_LG)."""
V0_LG_20BIT = int(_RIGHT["v0_lg"])
"""5,007,341: the deviation reference as a 20-bit build subtracts it from the score."""
LARGEST_STEP_20BIT = int(_RIGHT["max_srtt_bits"]) << (int(_RIGHT["bits"]) - 1)
"""Largest step of a 20-bit build: an integer logarithm of at most 18 (2^18 us of deviation)."""

CUT_FLOOR: float = _RIGHT["alpha_floor"] / 2
"""0.3125: share of the window that a reduction gives up at least in classic mode."""
MIN_CWND = float(_RIGHT["min_cwnd"])
"""2: packets below which no reduction takes the window."""
ALPHA_BITS: tuple[int, ...] = tuple(_RIGHT["published_bits"])
"""PRAGUE_ALPHA_BITS of the published trees: 20, 24 and 31."""
DCTCP = "dctcp"
"""tcp_dctcp, by its name: its alpha has 10 bits in every kernel (DCTCP_MAX_ALPHA)."""
FRAC_CWND_UNIT = int(_RIGHT["frac_cwnd_unit"])
"""2^20: one packet in `frac_cwnd`."""
TARGET_RTT_US = int(_RIGHT["target_rtt_us"])
"""25 ms: shortest time between two updates of alpha, and between two reductions."""
GAIN_SHIFT = int(_RIGHT["shift_g"])
"""4: alpha's gain is 1/16, and `upscaled_alpha` is alpha * 2^(PRAGUE_ALPHA_BITS + 4)."""
