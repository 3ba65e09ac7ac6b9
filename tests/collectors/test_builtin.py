"""Prague as part of the kernel: struct prague and the detector's fields among the kernel's types.

In the virtual machine fixtures/lab/vm/jobs/kernel_types.py shows collectors such a kernel.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from collectors.test_prague_layouts import btf_of
from kernel import btf, offsets, prague_layouts

JOBS = Path(__file__).resolve().parents[2] / "fixtures" / "lab" / "vm" / "jobs"
KERNEL = """
struct tcp_sack_block { unsigned int start_seq, end_seq; };
struct tcp_sock {
  unsigned int snd_cwnd; unsigned short gso_segs; unsigned char ecn_flags;
  struct tcp_sack_block duplicate_sack[1]; struct tcp_sack_block selective_acks[4];
  unsigned long long tcp_mstamp;
};
struct tcp_sock used;
"""


@pytest.fixture
def types(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(JOBS))
    return importlib.import_module("kernel_types")


@pytest.mark.needs("clang")
@pytest.mark.parametrize("layout", ["P1", "P4", "P7"])
def test_a_built_in_prague_is_read_from_the_kernels_own_types(
    tmp_path: Path, types: Any, layout: str
) -> None:
    stock = btf_of(KERNEL, tmp_path)
    kernel = types.Kernel(stock.blob)
    kernel.extend("tcp_sock", list(types.detector(kernel)))
    kernel.append("prague", prague_layouts.TOTALS[layout], list(types.prague(layout)))
    found = btf.Btf(kernel.blob())
    place = stock.field("tcp_sock", "duplicate_sack")[0]
    assert found.field("tcp_sock", "classic_ecn") == (place + 16, 8, 0, 0)
    assert found.field("tcp_sock", "g_mdev_shift") == (place + 38, 2, 0, 0)
    assert found.field("tcp_sock", "tcp_mstamp") == stock.field("tcp_sock", "tcp_mstamp")
    prague = offsets.prague_from_btf(found)
    assert prague is not None
    assert (prague["name"], prague["found"]) == (layout, "btf")
    assert prague["offsets"] == prague_layouts.offsets(layout)
    assert offsets.prague_from_btf(stock) is None
