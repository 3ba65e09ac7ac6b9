"""The tables that the native core returns are the declared ones, column by column."""

import ctypes
import struct
from pathlib import Path

import polars as pl
import pytest

from l4strace.core import _native
from l4strace.schema import TABLES
from tests.support.bench import workloads

CAPTURE_TABLES = ("sources", "flows", "directions", "rounds", "paths", "stats")

# A pcap header (little-endian, microseconds, snaplen 65535, Ethernet) without a packet.
EMPTY_PCAP = bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000")

ADDED = {"directions": {"cc", "reported_ect0", "reported_ect1"}}
"""Columns that logs and host files fill (ingest/join/controls.py), and those of UDP with keys."""


@pytest.mark.parametrize("name", CAPTURE_TABLES)
def test_columns_and_types_are_as_declared(name: str, tmp_path: Path) -> None:
    path = tmp_path / "empty.pcap"
    path.write_bytes(EMPTY_PCAP)
    table = pl.DataFrame(_native.track([str(path)])[name])
    declared = TABLES[name].schema
    assert not ADDED.get(name, set()) - set(declared)
    measured = {c: dtype for c, dtype in declared.items() if c not in ADDED.get(name, ())}
    assert table.schema == measured


def test_a_number_that_all_rows_share_is_kept_once(tmp_path: Path) -> None:
    path = tmp_path / "clean.pcap"
    path.write_bytes(workloads.captured("accecn-clean/sender.pcap.xz"))
    table = _native.track([str(path)])["rounds"]
    whole, varying, constants = map(
        pl.DataFrame, (table, table.varying(), table.constants() or pytest.fail("no constants"))
    )
    assert whole.height == varying.height == len(table) > 256
    assert constants.height == 1
    assert sorted(whole.columns) == sorted(varying.columns + constants.columns)
    assert {"round_trips", "owd_mean_us"} <= set(constants.columns)
    for column in whole:
        kept = constants if column.name in constants.columns else varying
        assert column.eq_missing(kept[column.name]).all(), column.name
    numbers = (column for column in varying if column.dtype.is_numeric())
    assert all(column.n_unique() > 1 for column in numbers if column.name != "source")


def test_numbers_that_columns_beside_each_other_share_are_kept_once(tmp_path: Path) -> None:
    """Bounds that are the estimate itself take no memory; once a row differs each has its own."""
    misfire, clean = tmp_path / "misfire.pcap", tmp_path / "clean.pcap"
    misfire.write_bytes(workloads.captured("misfire/misfire.pcap.xz"))
    clean.write_bytes(workloads.captured("accecn-clean/sender.pcap.xz"))
    sure, unsure, both = (
        _native.track(list(map(str, paths)))["rounds"]
        for paths in ((misfire,), (clean,), (misfire, clean))
    )
    places = _places(sure)
    assert places["alpha"] == places["alpha_lo"] == places["alpha_hi"]
    assert places["classic_ecn_lo"] == places["classic_ecn_hi"]
    assert places["rtt_mean_us"] != places["rtt_max_us"]
    assert _places(both)["classic_ecn_lo"] != _places(both)["classic_ecn_hi"]
    columns = pl.col("^(ce_|alpha|classic_ecn|marked_rtt_).*$")
    parts = [pl.DataFrame(table).select(columns) for table in (sure, unsure)]
    assert pl.DataFrame(both).select(columns).equals(pl.concat(parts))


class _Array(ctypes.Structure):
    """`ArrowArray` of Arrow's C data interface, up to what `_places` reads."""


_Array._fields_ = [
    ("counts", ctypes.c_int64 * 5),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
]


def _places(table: _native.ArrowTable) -> dict[str, int]:
    """Where in memory the numbers of each column lie, of those that differ by row."""
    varying = table.varying()
    _, array = varying.__arrow_c_array__()
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    columns = _Array.from_address(pointer(array, b"arrow_array")).children
    names = enumerate(pl.DataFrame(varying).columns)
    return {name: columns[at].contents.buffers[1] for at, name in names}


def test_progress_can_end_the_reading(tmp_path: Path) -> None:
    path = tmp_path / "empty.pcap"
    path.write_bytes(EMPTY_PCAP)
    calls: list[tuple[int, int]] = []
    _native.track([str(path)], lambda done, total: bool(calls.append((done, total))))
    assert calls == [(24, 24)]


def test_who_wants_no_more_gets_no_more_of_the_next_capture(tmp_path: Path) -> None:
    path = tmp_path / "long.pcap"
    record = struct.pack("<4I", 0, 0, 65_535, 65_535) + bytes(65_535)
    path.write_bytes(EMPTY_PCAP + 400 * record)
    tables = _native.track([str(path)] * 2, lambda *_: False)
    read = pl.DataFrame(tables["sources"])["records"].to_list()
    assert read[0] == read[1] < 400


def test_progress_is_not_asked_for_every_few_packets(tmp_path: Path) -> None:
    """Each call waits for Python, where another thread may be at work."""
    path = tmp_path / "many.pcap"
    path.write_bytes(EMPTY_PCAP)
    calls: list[tuple[int, int]] = []
    _native.track([str(path)] * 100, lambda done, total: calls.append((done, total)))
    assert calls[0] == (24, 2400)
    assert len(calls) < 100
