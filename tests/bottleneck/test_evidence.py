"""Rows of features as evidence: names stay, what is not known is NaN, the sure delay counts."""

from math import isnan
from typing import Any

from l4strace.bottleneck.evidence import Direction, Neighbors, of_row
from l4strace.bottleneck.table import Paths
from l4strace.derive import queue_features
from tests.support.frames import capture, stack
from tests.support.queues import CUBIC, FLOWS, PRAGUE, marked_above, of, sawtooth


def rows() -> list[dict[str, Any]]:
    queue = sawtooth(200, 1_100)
    other = sawtooth(8_000, 16_000)
    table = stack(of(queue, ce_best=marked_above(queue, 900)), of(other, flow=1, ece_acks=0))
    made = capture(flows=FLOWS, directions=stack(PRAGUE, CUBIC), rounds=table)
    return queue_features.features(made).to_dicts()


def test_every_field_is_measured() -> None:
    """A column that is renamed would leave its field unknown for ever."""
    given = {"phases", "ect1_on_path", "serialisation_us", "noise_us", "scalable", "classic"}
    (row, _) = rows()
    assert set(Direction._fields) - given <= row.keys()
    for of_class in ("scalable", "classic"):
        assert {f"{of_class}_{name}" for name in Neighbors._fields} <= row.keys()


def test_what_was_measured_keeps_its_value_and_the_rest_is_unknown() -> None:
    prague, cubic = (of_row(row) for row in rows())
    assert prague.marked_as == "ect1"
    assert prague.marks == rows()[0]["marks"]
    assert prague.classic.queue_us > 8_000
    assert prague.scalable == Neighbors(slots=0.0)
    assert isnan(cubic.marking_delay_us)


def test_the_delay_between_two_captures_replaces_that_of_the_round_trip() -> None:
    row = rows()[0] | {"marked_owd_us": 450.0, "hides_us": 900.0, "hides_owd_us": 100.0}
    found = of_row(row, phases=3, ect1_on_path=False)
    assert (found.marking_delay_us, found.noise_us) == (450.0, 100.0)
    assert (found.phases, found.ect1_on_path) == (3, False)
    assert of_row(row | {"hides_owd_us": None}).noise_us == 900.0


def test_a_path_without_a_rate_has_no_time_of_a_packet() -> None:
    assert isnan(of_row(rows()[0] | {"rate_bps": 0.0}).serialisation_us)


def test_one_phase_is_a_path_that_stays_the_same() -> None:
    from collections import Counter

    row = rows()[0]
    paths = Paths(Counter({(row["source"], row["path"]): 4}), frozenset())
    assert paths.of_row(row).phases == 4
    assert paths.of_row(row, one_phase=True).phases == 1
