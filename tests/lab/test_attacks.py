"""Captures that once gave wrong numbers in silence; the truth of each stands in their README."""

from pathlib import Path

import polars as pl
import pytest

from tests.support.tracking import tracked

TRUTH = {
    "dupv6-8000-0": (8000, 0, None),
    "dupv6-8000-1": (8000, 0, None),
    "dupv4": (400, 0, None),
    "dupv4id0": (400, 0, None),
    "opt24": (60_000, 0, 868_800_000),
    "inj": (2000, 0, None),
}
"""Name -> data packets, retransmissions, CE bytes that the options report."""


@pytest.mark.parametrize("name", TRUTH)
def test_numbers_are_the_true_ones(shared_data: Path, name: str) -> None:
    packets, retransmits, ce_bytes = TRUTH[name]
    tables = tracked(shared_data / "attacks" / f"{name}.pcap.xz")
    data = tables["directions"].filter(pl.col("data_packets") > 0).row(0, named=True)
    assert (data["data_packets"], data["retransmits"]) == (packets, retransmits)
    if ce_bytes is not None:
        assert data["ceb_bytes"] == ce_bytes
    if name.startswith("dup"):
        assert "seen_twice" in tables["stats"]["name"].to_list()


def test_drop_counters_near_their_end_do_not_wrap(shared_data: Path) -> None:
    stats = tracked(shared_data / "attacks" / "isb_over.pcapng.xz")["stats"]
    drops = stats.filter(pl.col("name") == "capture_drops")["count"][0]
    assert drops == 2**64 - 1
