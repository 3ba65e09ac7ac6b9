"""Samples of Prague on their way to the log while the layout is not known, and after."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from collectors.test_evidence import flow
from kernel import prague_layouts, samples
from kernel.evidence import Evidence
from kernel.receiver import HOLD_SECONDS, Receiver
from log import Log

ADDRESSES = bytes((10, 0, 0, 1)).ljust(16, b"\0"), bytes((10, 0, 0, 2)).ljust(16, b"\0")


class Kernel:
    """What the decoder asks of the kernel's layout; every field but those of `missing` is there."""

    ca_size = 104
    ca_state = (0, 8)

    def __init__(self, *missing: str) -> None:
        self.macros = {f"OFF_{name}": -1 if name in missing else 8 for name in self.bits()}

    def bits(self) -> dict[str, int]:
        from kernel.offsets import Layout

        return Layout.bits(self)  # type: ignore[arg-type]


def raw(tcp: dict[str, Any], image: bytes, event: str = "ack", **more: Any) -> bytes:
    values: dict[str, Any] = dict.fromkeys(samples.NAMES, 0)
    values |= tcp | {"family": 2, "sport": 40001, "dport": 5201, "cc": b"prague"}
    values |= {"event": samples.EVENTS.index(event), "saddr": ADDRESSES[0], "daddr": ADDRESSES[1]}
    values |= more
    return samples.HEAD.pack(*(values[name] for name in samples.NAMES)) + image


class Bench:
    """A receiver, what it told the program and what it wrote."""

    def __init__(self, layout: dict[str, Any] | None = None, *missing: str) -> None:
        self.stream = io.BytesIO()
        self.settled: list[Any] = []
        decoder = samples.Decoder(Kernel(*missing), layout, None, 0)
        judged = None if layout else Evidence(104, ["P3", "P2", "P1"])
        self.log = Log(self.stream, "bcc/cc_probes", samples.FIELDS, layout)
        self.receiver = Receiver(self.log, decoder, self.settle, judged, derive=True)

    def settle(self, layout: dict[str, Any] | None, _size: int) -> None:
        self.settled.append(layout and layout["name"])

    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.stream.getvalue().splitlines()]

    def samples(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line.get("event") == event]


def test_the_layout_is_found_and_nothing_is_missing() -> None:
    bench = Bench()
    states = list(flow("P2", 104))
    bench.receiver.take(raw(states[0][0], bytes(104)))
    bench.receiver.take(raw(states[0][0], bytes(104), "init"))
    for tcp, image in states:
        bench.receiver.take(raw(tcp, image))
    bench.log.close("exit")
    assert bench.settled == ["P2"]
    acks = bench.samples("ack")
    assert len(acks) == len(states) + 1
    expected = [samples.prague_state(i, prague_layouts.layout("P2", "x")) for _, i in states]
    assert [one["frac_cwnd"] for one in acks[1:]] == [one["frac_cwnd"] for one in expected]
    assert bench.lines()[-1]["layout"]["name"] == "P2"


def test_updates_are_derived_where_next_seq_moved() -> None:
    bench = Bench()
    states = list(flow("P2", 104))
    for number, (tcp, image) in enumerate(states):
        # The program derives them from the moment that it knows the layout.
        bench.receiver.take(raw(tcp, image, argument=samples.SETTLED if number > 30 else 0))
    layout = prague_layouts.layout("P2", "x")
    rounds = [samples.prague_state(image, layout)["round"] for _, image in states[:32]]
    moved = [i for i in range(len(rounds) - 1) if rounds[i + 1] != rounds[i]]
    updates = bench.samples("alpha")
    assert [one["ts_ns"] for one in updates] == [states[i][0]["ts_ns"] for i in moved]
    assert [one["round"] for one in updates] == [rounds[i] for i in moved]


@pytest.mark.parametrize("skipped", range(1, 6))
def test_an_update_in_a_call_that_was_skipped_is_not_another_calls(skipped: int) -> None:
    """The kernel skips probes that nest: what the update saw was never recorded."""
    layout = prague_layouts.layout("P2", "x")
    states = list(flow("P2", 104))
    bench = Bench()
    for tcp, image in [one for i, one in enumerate(states) if i % 6 != skipped]:
        bench.receiver.take(raw(tcp, image))
    after = {samples.prague_state(i, layout)["round"]: i for _, i in reversed(states)}
    updates = bench.samples("alpha")
    assert updates
    for one in updates:
        began = samples.prague_state(after[one["round"] + 1], layout)
        assert (one["delivered"], one["snd_nxt"]) == (began["old_delivered"], began["next_seq"])


def test_a_sample_waits_a_second_at_most() -> None:
    bench = Bench()
    tcp, image = next(iter(flow("P2", 104)))
    bench.receiver.take(raw(tcp, image))
    assert bench.samples("ack") == []
    bench.receiver.tick(bench.receiver.held_since + HOLD_SECONDS)
    (ack,) = bench.samples("ack")
    assert "frac_cwnd" not in ack
    assert ack["snd_cwnd"] == tcp["snd_cwnd"]


def test_state_of_tcp_sock_is_kept_when_struct_prague_fits_nothing() -> None:
    bench = Bench()
    for tcp, _ in flow("P2", 104):
        more = {"classic_ecn": 7 << 20, "srtt_pace": 9 << 18, "g_srtt_shift": 18}
        bench.receiver.take(raw(tcp, bytes(range(1, 105)), **more))
    bench.receiver.end()
    assert bench.settled == [None]
    acks = bench.samples("ack")
    assert len(acks) == 60
    assert {one["classic_ecn_raw"] for one in acks} == {7 << 20}
    assert not any("upscaled_alpha" in one for one in acks)
    assert any("matches no known layout" in line.get("text", "") for line in bench.lines())


def test_a_short_flow_is_decided_at_the_end() -> None:
    bench = Bench()
    for tcp, image in list(flow("P2", 104))[:5]:
        bench.receiver.take(raw(tcp, image))
    bench.receiver.end()
    assert bench.settled == ["P2"]
    assert all("upscaled_alpha" in one for one in bench.samples("ack"))


@pytest.mark.parametrize("name", ["delivered", "srtt_us", "ssthresh", "classic_ecn_raw"])
def test_a_failed_read_is_absent_and_no_zero(name: str) -> None:
    macro = {"srtt_us": "SRTT", "classic_ecn_raw": "CLASSIC_ECN"}.get(name, name.upper())
    tcp, image = list(flow("P2", 104))[-1]
    layout = prague_layouts.layout("P2", "btf")
    read = Bench(layout)
    read.receiver.take(raw(tcp, image))
    assert name in read.samples("ack")[0]
    failed = Bench(layout)
    failed.receiver.take(raw(tcp, image, failed=1 << Kernel().bits()[macro]))
    assert name not in failed.samples("ack")[0]
    lacking = Bench(layout, macro)
    lacking.receiver.take(raw(tcp, image))
    assert name not in lacking.samples("ack")[0]


def test_struct_prague_that_could_not_be_read_is_absent() -> None:
    tcp, image = list(flow("P2", 104))[-1]
    bench = Bench(prague_layouts.layout("P2", "btf"))
    bench.receiver.take(raw(tcp, image, failed=1 << Kernel().bits()["CA_PRIV"]))
    assert "upscaled_alpha" not in bench.samples("ack")[0]
