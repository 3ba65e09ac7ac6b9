"""What a column states of the places where its values are known."""

from __future__ import annotations

import polars as pl

from l4strace import pipeline
from l4strace.schema import TABLES
from l4strace.schema.table import AT_LEAST, NOT_AT_RECEIVER, Column
from tests.support.places import FIXTURES


def test_the_sentence_of_a_column_states_its_vantage() -> None:
    plain = Column("rounds", pl.UInt64(), "", "Number of rounds.")
    assert plain.doc == "Number of rounds."
    assert plain._replace(vantage=AT_LEAST).doc == f"Number of rounds. {AT_LEAST}"


def test_what_a_receiver_does_not_see_is_null_there() -> None:
    """At a receiver: "Slow start ended with 1 packets in flight"."""
    unseen = [c.name for c in TABLES["rounds"].columns if c.vantage == NOT_AT_RECEIVER]
    assert {"slow_start", "inflight_max_packets", "classic_ecn"} <= set(unseen)
    reports = FIXTURES / "reports"
    for side, known in (("snd", True), ("rcv", False)):
        capture = pipeline.read([str(reports / f"remark-both-ends-{side}.pcap.xz")])
        data = capture.rounds.filter(pl.col("sent_packets") > 1)
        assert data.height > 10
        assert data["slow_start"].is_not_null().all() is known
        assert data.select(pl.any_horizontal(pl.col(unseen).is_not_null().any())).item() is known
