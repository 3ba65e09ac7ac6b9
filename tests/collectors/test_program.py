"""The BPF program: what it is told, which probes it lacks, what it lost."""

from __future__ import annotations

import io
import struct
from collections import defaultdict
from typing import Any

import pytest

from collectors.test_receiver import Kernel, raw
from kernel import bcc, kprobes, prague_layouts
from kernel.samples import Decoder

NEXT_SEQ, OLD_DELIVERED = range(2)


class Table(dict[int, Any]):
    """As BCC's: keys are C integers."""

    def __setitem__(self, index: Any, value: Any) -> None:
        super().__setitem__(index.value, value.value)

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(index.value)


@pytest.fixture
def program() -> Any:
    """Without a kernel: its tables are dictionaries."""
    made = bcc.Program.__new__(bcc.Program)
    made.bpf = defaultdict(Table)
    made.attached, made.notes, made.descriptors = [], [], []
    made.kprobes, made.reported = None, {}
    return made


@pytest.mark.parametrize("name", sorted(prague_layouts.OFFSETS))
def test_it_is_told_the_offsets_of_the_layout_that_was_chosen(program: Any, name: str) -> None:
    layout = prague_layouts.layout(name, "values")
    program.settle(layout, 128)
    table, offsets = program.bpf["round_at"], layout["offsets"]
    assert table == {NEXT_SEQ: offsets["next_seq"], OLD_DELIVERED: offsets["old_delivered"]}
    assert list(table) == [OLD_DELIVERED, NEXT_SEQ], "it begins when it has next_seq"


@pytest.mark.parametrize("layout", [None, prague_layouts.layout("P4", "values")])
def test_what_has_no_room_is_nowhere(program: Any, layout: Any) -> None:
    program.settle(layout, 100)
    assert program.bpf["round_at"] == {
        NEXT_SEQ: bcc.UNREADABLE_OFFSET,
        OLD_DELIVERED: 96 if layout else bcc.UNREADABLE_OFFSET,
    }


def test_a_probe_that_cannot_be_set_is_named(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(function: str, *_: object) -> None:
        if function == "prague_init":
            raise OSError("the kernel refuses")

    monkeypatch.setattr(program, "_attach", refuse)
    symbols = {name: name for name in ("prague_init", "prague_release")}
    program.attach(symbols, bcc.PRAGUE_PROBES)
    assert program.attached == ["prague_release"]
    assert program.notes == ["no probe on prague_init: the kernel refuses"]


def test_runs_that_the_kernel_left_out_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = "pos:\t0\nprog_type:\t2\nrecursion_misses:\t17\n"
    monkeypatch.setattr(kprobes, "open", lambda _: io.StringIO(shown), raising=False)
    assert kprobes.program_skipped(7) == 17


def test_losses_are_told_once(program: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    program.bpf["lost"] = Table({0: [3, 4], 1: [1, 0]})
    monkeypatch.setattr(bcc, "program_skipped", lambda _: 5)
    program.descriptors = [7]
    assert program.newly_lost() == {"ring": 7, "nested": 1, "skipped": 5}
    assert program.newly_lost() == {"ring": 0, "nested": 0, "skipped": 0}


def test_alpha_of_dctcp_is_in_its_samples() -> None:
    offsets = {"old_delivered": 0, "old_delivered_ce": 4, "dctcp_alpha": 12, "next_seq": 16}
    image = struct.pack("=5I", 100, 7, 0, 256, 9000).ljust(104, b"\0")
    tcp = dict.fromkeys(("snd_cwnd", "snd_una", "delivered"), 1)
    decoder = Decoder(Kernel(), None, offsets, 0)
    event, record = decoder.record(*decoder.split(raw(tcp, image, "alpha", cc=b"dctcp")))
    assert (event, record["alpha"]) == ("alpha", 0.25)
    assert (record["old_delivered"], record["old_delivered_ce"]) == (100, 7)
