"""The Linux authors' own AccECN scripts: every outcome named, every counter assertion met."""

import json
from pathlib import Path

import polars as pl
import pytest

from tests.support.tracking import tracked

OUTCOMES = {
    "accecn__counters__delivered-largeack": "accecn",
    "accecn__counters__delivered-updates": "accecn",
    "accecn__counters__ecn-field-updates-opt": "accecn",
    "accecn__fallback__accecn-to-rfc3168": "classic",
    "accecn__fallback__syn_ace_flags_drop": "none",
    "accecn__fallback__zero_ace_first_ack": "accecn",
    "accecn__negotiation__negotiation-connect": "accecn",
    "accecn__negotiation__negotiation-listen": "accecn",
    "accecn__negotiation__serverside-broken": "none",
    "accecn__negotiation__synack-rexmit": "accecn",
    "accecn__reflector__syn-ce": "accecn",
    "accecn__reflector__synack-ect1": "accecn",
    "accecn__simultaneous_open__simultaneous_open_accecn": "accecn",
}
COLUMNS = {
    "tcpi_delivered_ce": "ce_fed_back_best",
    "tcpi_delivered_ce_bytes": "ceb_bytes",
    "tcpi_delivered_e0_bytes": "e0b_bytes",
    "tcpi_delivered_e1_bytes": "e1b_bytes",
}


def test_no_script_is_forgotten(shared_data: Path) -> None:
    expected = json.loads((shared_data / "packetdrill-accecn" / "expected.json").read_text())
    assert set(expected) == set(OUTCOMES)


@pytest.mark.parametrize("name", OUTCOMES)
def test_negotiation_is_named(name: str, shared_data: Path) -> None:
    flows = tracked(shared_data / "packetdrill-accecn" / f"{name}.pcap")["flows"]
    assert flows["mode"].to_list() == [OUTCOMES[name]]
    assert flows["mode_reason"][0].endswith(".")


def prefix(path: Path, packets: int, target: Path) -> Path:
    """The first packets of a classic little-endian capture."""
    data = path.read_bytes()
    end = 24
    for _ in range(packets):
        end += 16 + int.from_bytes(data[end + 8 : end + 12], "little")
    target.write_bytes(data[:end])
    return target


@pytest.mark.parametrize("name", OUTCOMES)
def test_counters_are_the_kernels_after_every_packet(
    name: str, shared_data: Path, tmp_path: Path
) -> None:
    folder = shared_data / "packetdrill-accecn"
    expected = json.loads((folder / "expected.json").read_text())[name]
    # The kernel under test counts feedback on what it sends.
    first = expected["packets"][0]
    forward = first["dir"] == "out"
    for i, claim in enumerate(expected["asserts"]):
        cut = prefix(folder / f"{name}.pcap", claim["after_packet"], tmp_path / f"{i}.pcap")
        row = tracked(cut)["directions"].filter(pl.col("forward") == forward).row(0, named=True)
        assert (row[COLUMNS[claim["field"]]] or 0) == claim["value"], claim


def test_reflection_shows_the_codepoint_that_arrived(shared_data: Path) -> None:
    folder = shared_data / "packetdrill-accecn"
    syn_ce = tracked(folder / "accecn__reflector__syn-ce.pcap")["flows"].row(0, named=True)
    assert syn_ce["syn_arrived_ecn"] == 3
    synack_ect1 = tracked(folder / "accecn__reflector__synack-ect1.pcap")["flows"]
    assert synack_ect1["synack_arrived_ecn"][0] == 1


def test_a_downgraded_syn_is_seen(shared_data: Path) -> None:
    path = shared_data / "packetdrill-accecn" / "accecn__fallback__syn_ace_flags_drop.pcap"
    flow = tracked(path)["flows"].row(0, named=True)
    assert (flow["syn_count"], flow["syn_ace"], flow["syn_retry_ace"]) == (3, 7, 0)
