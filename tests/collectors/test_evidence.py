"""The layout of struct prague, chosen by what a running flow keeps in its fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kernel import evidence, prague_layouts
from kernel.evidence import Evidence

BUILDS = sorted(prague_layouts.OFFSETS)
SAME = {"P5": "P7"}
"""Layouts with the same offsets, of which the last is named."""
PACKET = 1 << 20


def image(name: str, size: int, known: dict[str, int]) -> bytes:
    data = bytearray(max(size, 128))
    for field, at in prague_layouts.offsets(name).items():
        width = prague_layouts.SIZES[field]
        data[at : at + width] = (known.get(field, 0) % (1 << 8 * width)).to_bytes(width, "little")
    return bytes(data[:size])


def flow(name: str, size: int = 128, packets: int = 10) -> Iterator[tuple[dict[str, Any], bytes]]:
    """One flow of a build: slow start, then reductions that the window follows slowly.

    Each state is that at the entry of a call: what the call before made of it.
    """
    bits = prague_layouts.ALPHA_BITS[name]
    cwnd, window, una, delivered, marks, began, rounds = packets, packets * PACKET, 1, 0, 0, 1, 0
    old = (0, 0)
    for number in range(60):
        una += 1448 * 2
        delivered += 2
        marks += number > 20 and number % 5 == 0
        now = 7_000_000_000_000 + number * 2_000_000
        tcp = {"sk": 0xFFFF888012345678, "ts_ns": now, "snd_cwnd": cwnd, "snd_una": una}
        tcp |= {"snd_nxt": una + 1448 * cwnd, "delivered": delivered, "delivered_ce": marks}
        known = {
            "cwr_stamp": now // 1000 - 20_000,
            "alpha_stamp": now // 1000 - 9000,
            "upscaled_alpha": (16 << bits) - (rounds % 16 << bits),
            "ai_ack_increase": PACKET,
            "mtu_cache": 1500,
            "hsrtt_us": 10_000 << 10,
            "rate_offset": 4,
            "cwnd_cnt": window - cwnd * PACKET,
            "frac_cwnd": window,
            "rate_bytes": 2_000_000,
            "loss_rate_bytes": 0,
            "max_tso_burst": 2,
            "rest_depth_us": 370_727,
            "rest_mdev_us": 741_455,
            "old_delivered": old[0],
            "old_delivered_ce": old[1],
            "next_seq": began,
            "round": rounds,
            "rtt_transition_delay": 500 if name in ("P1", "P2", "P3") else 4,
            "rtt_target": 25_000 << (7 if name in ("P1", "P2") else 3),
            "bits": marks > 0,
        }
        yield tcp, image(name, size, known)
        if una >= began:
            began, rounds, old = una + 1448 * cwnd, rounds + 1, (delivered, marks)
            window = window - window // 4 if rounds % 4 == 0 else window + PACKET
        target = -(-window // PACKET)
        cwnd += (target > cwnd) - (target < cwnd)


def decided(name: str, allowed: list[str], **options: int) -> str | None:
    judged = Evidence(options.get("size", 128), allowed)
    for tcp, data in flow(name, **options):
        judged.add("ack", tcp, data)
        if layout := judged.decide():
            assert layout["found"] == "values"
            assert layout["alpha_bits"] is None
            return str(layout["name"])
    return None


@pytest.mark.parametrize("name", BUILDS)
def test_every_build_is_found_without_a_hint(name: str) -> None:
    assert SAME.get(decided(name, []) or "", decided(name, [])) == SAME.get(name, name)


@pytest.mark.parametrize("name", BUILDS)
@pytest.mark.parametrize("hint", [["P3", "P2", "P1"], ["P6", "P5"], ["P4"], ["P7"]])
def test_parameters_of_another_build_mislead_nobody(name: str, hint: list[str]) -> None:
    assert SAME.get(decided(name, hint) or "", decided(name, hint)) == SAME.get(name, name)


@pytest.mark.parametrize("name", ["P1", "P2", "P3", "P5", "P7"])
def test_the_room_of_a_stock_kernel_is_enough(name: str) -> None:
    found = decided(name, [], size=104)
    assert SAME.get(found or "", found) == SAME.get(name, name)


def test_a_build_whose_rounds_have_no_room_is_found_by_the_rest() -> None:
    assert decided("P4", ["P4"], size=104) == "P4"


def test_the_call_before_init_decides_nothing() -> None:
    judged = Evidence(104, ["P3", "P2", "P1"])
    for tcp, data in flow("P2", 104):
        judged.add("ack", tcp, bytes(104))
        judged.add("init", tcp, data)
        judged.add("release", tcp, data)
    assert judged.samples == 0
    assert judged.decide() is None
    assert judged.decide(last=True) is None


def test_a_window_of_four_packets_is_no_rest_of_a_window() -> None:
    """P1 keeps the rest of a packet where P2 keeps the window: P1 passed for anything once."""
    tcp, data = list(flow("P2"))[-1]
    assert "cwnd_cnt" in evidence.faults(data, prague_layouts.layout("P1", "values"), tcp)


@pytest.mark.parametrize("field", sorted(evidence.TESTS))
def test_every_field_is_tested(field: str) -> None:
    """A value that the field cannot hold is named, in each layout that has the field."""
    for name in BUILDS:
        at = prague_layouts.offsets(name).get(field)
        if at is None:
            continue
        tcp, data = list(flow(name))[-1]
        layout = prague_layouts.layout(name, "values")
        assert evidence.faults(data, layout, tcp) == []
        width = prague_layouts.SIZES[field]
        wild = 0x5A5A5A5A5A5A5A5A % (1 << 8 * width)
        torn = data[:at] + wild.to_bytes(width, "little") + data[at + width :]
        assert field in evidence.faults(torn, layout, tcp)


def test_what_fits_nothing_is_said() -> None:
    judged = Evidence(128)
    for tcp, _ in flow("P2"):
        judged.add("ack", tcp, bytes(range(1, 129)))
    assert judged.decide() is None
    assert judged.why_not() == "struct prague matches no known layout"


def test_tiny_windows_leave_two_layouts_open() -> None:
    """With 4 packets a whole window could be a rest: better no layout than the wrong one."""
    assert decided("P2", ["P3", "P2", "P1"], packets=2) in (None, "P2")
