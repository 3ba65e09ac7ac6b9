"""The three trace tools write one shape; damaged logs are an error of input or fewer samples."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from l4strace.errors import InputError
from l4strace.ingest.join import attach
from tests.support import frames

FIELDS = "sk=0x1 sport=40001 dport_be=0x5114 classic_ecn=0 upscaled_alpha=16777216"
TOOLS = {
    "tracefs": "# tracer: nop\n"
    f"  <idle>-0       [000] ..s4.  1505.275453: ack: (prague_cong_control+0x4/0x80) {FIELDS}\n",
    "trace-cmd": "cpus=1\n"
    f"          <idle>-0     [000]  1505.275453: ack:                  (ffffffffc0a0) {FIELDS}\n",
    "perf": f"swapper     0 [000]  1505.275453:             pr:ack: (ffffffffc0a01234) {FIELDS}\n",
}
OTHERS = {
    "own": '{"type":"header","format":"l4strace-kernel-log","version":1,"collector":"t",'
    '"kernel":"6","command":[],"clock":{"id":"unknown"},"fields":{"ts_ns":"i64","sk":"str"}}\n'
    '{"type":"sample","ts_ns":5,"event":"ack","sk":"0x1"}\n',
    "bpftrace": '{"type": "printf", "data": "nsecs=5 sport=1 dport=2\\n"}\n'
    '{"type": "map", "data": {"@c": 1}}\n',
    "ss": "# t=1795252715.257886\nESTAB 0 0 10.0.1.2:40001 10.0.3.2:5201\n"
    "\t cubic rto:211 rtt:10.152/0.164 cwnd:7\n",
    "flent": '{"metadata": {"HOST": "b", "SERIES_META": {}}, "raw_values": {"TCP upload": '
    '[{"t": 1587805630.19, "tcp_cwnd": 10.0, "tcp_rtt": 20.0}]}}',
}


@pytest.mark.parametrize("tool", TOOLS)
def test_three_tools_give_the_same_sample(tmp_path: Path, tool: str) -> None:
    path = tmp_path / "log.txt"
    path.write_text(TOOLS[tool])
    row = attach.load_logs(frames.capture(), [str(path)]).kernel.row(0, named=True)
    assert (row["ts_ns"], row["event"], row["alpha"]) == (1505275453000, "ack", 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("dialect", [*TOOLS, *OTHERS])
def test_damage_is_no_crash(tmp_path: Path, dialect: str) -> None:
    whole = (TOOLS | OTHERS)[dialect].encode()
    chance = random.Random(dialect)
    path = tmp_path / "log"
    for _ in range(60):
        data = bytearray(whole * 3)
        for _ in range(chance.randrange(1, 8)):
            data[chance.randrange(len(data))] = chance.randrange(256)
        path.write_bytes(data[: chance.randrange(len(data))])
        try:
            capture = attach.load_logs(frames.capture(), [str(path)])
        except InputError:
            continue
        assert capture.kernel["flow"].null_count() == 0
