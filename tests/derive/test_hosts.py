"""Host files as a table: settings as text, counters before and after the run."""

from __future__ import annotations

from typing import Any

import polars as pl

from l4strace.derive import hosts
from l4strace.ingest import host_file
from tests.support.frames import capture
from tests.support.places import REPOSITORY

DCTCP = REPOSITORY / "fixtures/dctcp/dctcp.host.json"


def facts(*files: dict[str, Any]) -> pl.DataFrame:
    return hosts.table(capture(host_files=files))


def value(table: pl.DataFrame, topic: str, subject: str | None, name: str) -> tuple[Any, ...]:
    same = pl.col("subject").eq_missing(subject)
    row = table.filter((pl.col("topic") == topic) & same & (pl.col("name") == name))
    return row.select("value", "before", "after").row(0)


def test_a_recorded_host_file_is_a_table() -> None:
    table = facts(host_file.read(str(DCTCP)))
    assert value(table, "sysctl", None, "net.ipv4.tcp_ecn") == ("3", None, None)
    assert value(table, "offload", "c0", "rx_checksum")[0] in ("on", "off")
    assert value(table, "capture", "kernel", "source") == ("bcc", None, None)
    assert value(table, "qdisc", "c0 noqueue 0:0", "drops")[1:] == (0, 0)
    assert table["topic"].unique().sort().to_list() == [
        "capture", "counter", "interface", "kernel", "module", "offload", "qdisc", "socket",
        "sysctl", "version",
    ]  # fmt: skip


def test_counters_are_kept_before_and_after() -> None:
    def at(marks: int) -> dict[str, Any]:
        qdisc = {
            "kind": "dualpi2",
            "handle": "1:0",
            "drops": marks,
            "statistics": {"ecn_mark": marks},
        }
        return {"interfaces": {"e0": {"qdiscs": [qdisc]}}, "netstat": {"TCPDeliveredCE": marks}}

    table = facts({"path": "a.host.json", "before": at(3), "after": at(40)})
    assert value(table, "qdisc", "e0 dualpi2 1:0", "ecn_mark") == (None, 3, 40)
    assert value(table, "qdisc", "e0 dualpi2 1:0", "drops") == (None, 3, 40)
    assert value(table, "counter", None, "TCPDeliveredCE") == (None, 3, 40)
    # A run that was cut short has no counters after it, which is not 0.
    begun = facts({"path": "a.host.json", "before": at(3)})
    assert value(begun, "counter", None, "TCPDeliveredCE") == (None, 3, None)


def test_what_has_another_shape_is_left_out() -> None:
    strange = {
        "path": "x.host.json",
        "kernel": 7,
        "cpus": {"a": 1},
        "sysctls": {"net.ipv4.tcp_ecn": [1], "b": None},
        "modules": ["tcp_prague"],
        "interfaces": ["e0"],
        "before": {"interfaces": {"e0": {"qdiscs": "x"}}, "netstat": {"a": "1"}},
        "after": {"interfaces": {"e0": {"qdiscs": [None, {"kind": 3}]}}},
        "sockets": [4, {"sport": "x", "cc": "cubic"}],
        "capture": [],
    }
    table = facts(strange)
    assert value(table, "socket", "? > ?", "cc") == ("cubic", None, None)
    assert table.filter(pl.col("topic") != "socket").is_empty()
    assert facts().is_empty()
