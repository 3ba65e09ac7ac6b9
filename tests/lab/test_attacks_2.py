"""Inputs of the second round of attacks, which once gave wrong answers; README has each truth."""

import csv
import tarfile
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner, Result

import l4strace
from l4strace import cli

MSS = 1448

TRUTH = {
    "bloat_v6": (2500, 0),
    "rt10_v6_5100": (800, 0),
    "all_ce_thin16": (1600, 0),
    "all_ce_thin16_noopt": (1600, 0),
    "loss2_nosack": (1515, 15),
}
"""Name -> data packets that were sent, retransmissions among them."""

ALL_MARKED = ("all_ce_thin16", "all_ce_thin16_noopt")
ANSWERS = (0, 1, 2, 3)
"""Exit codes that the manual has: of no finding, findings, wrong use, refused input."""


@pytest.fixture
def attacks(shared_data: Path) -> Path:
    return shared_data / "attacks-2"


def called(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli.app, [str(one) for one in arguments])


@pytest.mark.parametrize("name", TRUTH)
def test_numbers_are_the_true_ones_and_nobody_is_accused(attacks: Path, name: str) -> None:
    run = l4strace.open(attacks / f"{name}.pcap.xz")
    data = run.directions.filter(pl.col("data_packets") > 0).row(0, named=True)
    packets, retransmits = TRUTH[name]
    assert (data["data_packets"], data["retransmits"]) == (packets, retransmits)
    assert data["payload_bytes"] == packets * MSS
    weighty = run.findings.filter(pl.col("severity").is_in(["warning", "error"]))
    assert not [rule for rule in weighty["rule"] if rule.startswith("L4S1")]


@pytest.mark.parametrize("name", ALL_MARKED)
def test_where_all_packets_may_be_marked_nothing_is_called_free_of_marks(
    attacks: Path, name: str
) -> None:
    run = l4strace.open(attacks / f"{name}.pcap.xz")
    data = run.directions.filter(pl.col("data_packets") > 0).row(0, named=True)
    assert data["ce_fed_back_lo"] <= 1600 <= data["ce_fed_back_hi"]
    assert not run.bottlenecks["kind"].is_in(["none", "fifo", "unmarked", "dropping"]).any()


@pytest.mark.parametrize("name", ["pad_tl20.pcap", "pad_frag.pcap", "names.kernel.ndjson"])
def test_copies_hold_neither_padding_nor_names(attacks: Path, name: str, tmp_path: Path) -> None:
    called("redact", attacks / name, "-o", tmp_path / "out")
    (copy,) = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    for secret in (b"SECRET", b"alice-laptop"):
        assert secret not in copy.read_bytes()


def test_a_foreign_folder_is_not_emptied(attacks: Path, tmp_path: Path) -> None:
    with tarfile.open(attacks / "linked-results.tar") as archive:
        archive.extractall(tmp_path, filter="tar")
    thesis = tmp_path / "home" / "thesis.tex"
    before = thesis.read_bytes()
    assert called("sweep", tmp_path / "two.csv", "-o", tmp_path / "res").exit_code in ANSWERS
    assert thesis.read_bytes() == before


@pytest.mark.parametrize("name", ["ver.csv", "nul.txt"])
def test_odd_values_and_names_are_no_crash(attacks: Path, name: str, tmp_path: Path) -> None:
    assert called("sweep", attacks / name, "-o", tmp_path / "out").exit_code in ANSWERS


def test_a_cell_is_no_formula(attacks: Path, tmp_path: Path) -> None:
    table = tmp_path / "sources.csv"
    assert called("export", "sources", attacks / "form.pcapng", "-o", table).exit_code == 0
    with table.open(newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert any("=cmd" in cell for cell in cells)
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
