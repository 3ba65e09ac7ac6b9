"""Memory and verdicts of a flow with more rounds than are kept one by one."""

import polars as pl
import pytest

from l4strace import pipeline, resources
from l4strace.derive import noise
from l4strace.derive.senders import laws
from l4strace.schema.keys import KEY
from tests.support.bench import shapes, workloads

PACKETS = 900_000
MOST_ROWS = 1 << 15
"""As in native/src/track/rounds/thin.rs."""


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def clean() -> bytes:
    return workloads.captured("accecn-clean/sender.pcap.xz")


@pytest.fixture(scope="module")
def long_run(clean, tmp_path_factory):
    """The file and its capture."""
    path = tmp_path_factory.mktemp("long") / "long.pcap"
    shapes.continued(clean, PACKETS, path)
    return path, pipeline.read([str(path)])


def test_its_rounds_are_put_together_and_none_is_lost(long_run):
    _, capture = long_run
    rounds, (direction,) = capture.rounds, capture.directions.filter("forward").to_dicts()
    assert rounds.height < MOST_ROWS < rounds["round_trips"].sum()
    assert rounds["round_trips"].min() == 1
    assert rounds["sent_packets"].sum() == direction["data_packets"]
    assert rounds["acked_bytes"].sum() == direction["acked_bytes"]
    assert rounds["ce_best"].sum() == direction["ce_fed_back_best"]
    assert rounds["rtt_min_us"].min() == direction["rtt_min_us"]
    following = rounds["round"] + rounds["round_trips"]
    assert following[:-1].to_list() == rounds["round"][1:].to_list()
    assert (rounds["start_ns"][1:] >= rounds["end_ns"][:-1]).all()


def test_it_is_the_same_on_any_number_of_threads(long_run):
    path, capture = long_run
    for number in (1, 2, 16):
        resources.limit_threads(number)
        try:
            again = pipeline.read([str(path)])
        finally:
            resources.limit_threads(None)
        assert again.rounds.equals(capture.rounds)


def test_how_a_window_follows_its_marks_is_seen_in_single_rounds(long_run):
    _, capture = long_run
    marked = capture.rounds.filter(pl.col("ce_best") > 0)
    single = marked.filter(pl.col("round_trips") == 1)
    assert single.height < marked.height
    assert single.height / 4 < laws.table(capture)["samples"].max() <= single.height


def test_queues_and_noise_are_compared_in_single_rounds(long_run):
    _, capture = long_run
    single = capture.rounds.filter(pl.col("round_trips") == 1)
    assert single.height < capture.rounds.height
    most = single.group_by(KEY).len()["len"].max()
    assert noise.table(capture)["rounds"].max() == most - most // 10


def test_it_gets_the_verdicts_of_its_beginning(clean, long_run, tmp_path):
    short = tmp_path / "short.pcap"
    shapes.continued(clean, PACKETS // 10, short)
    _, capture = long_run
    said = [
        {(f.rule, f.severity, f.confidence) for f in analysed.findings}
        for analysed in (
            pipeline.judge(pipeline.derive(one)) for one in (capture, pipeline.read([str(short)]))
        )
    ]
    assert said[0] == said[1]
