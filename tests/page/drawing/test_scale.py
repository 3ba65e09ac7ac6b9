"""Axes whose ticks a person would have chosen."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from l4strace.page.drawing.layout import MOST_LABELS, logarithmic
from l4strace.page.drawing.scale import MOST_TICKS, scale

NUMBERS = st.floats(-1e9, 1e9).filter(lambda v: v == 0 or abs(v) > 1e-6)


@given(st.lists(NUMBERS, min_size=1, max_size=20), st.sampled_from(["tozero", "normal"]))
def test_every_value_lies_on_the_axis(values: list[float], mode: str) -> None:
    axis = scale(values, {"rangemode": mode})
    assert all(-1e-9 <= axis.place(value) <= 1 + 1e-9 for value in values)
    assert 1 <= len(axis.ticks) <= MOST_TICKS + 2
    assert mode == "normal" or axis.low <= 0 <= axis.high


@given(st.lists(st.floats(1e-3, 1e9), min_size=1, max_size=20))
def test_a_logarithmic_axis_holds_every_value(values: list[float]) -> None:
    axis = scale(values, {"type": "log"})
    assert all(0 <= axis.place(value) <= 1 for value in values)


def test_ticks_are_round_and_carry_the_unit() -> None:
    axis = scale([], {"range": [0, 19.7], "ticksuffix": " s"})
    assert [text for _, text in axis.ticks] == ["0 s", "5 s", "10 s", "15 s"]


def test_given_ticks_stay() -> None:
    axis = scale([], {"range": [0, 17], "tickvals": [0, 8.5, 17], "ticktext": ["0", "8-9", "17"]})
    assert axis.ticks == ((0, "0"), (8.5, "8-9"), (17, "17"))
    assert axis.place(8.5) == 0.5


def test_gaps_are_no_values() -> None:
    assert scale([math.nan, 2.0, 4.0], {"rangemode": "normal"}).low == pytest.approx(1.9)


def test_a_logarithmic_axis_has_whole_labels() -> None:
    for values in ([0.05, 0.9], [0.01, 400.0], [3.0, 4.0]):
        axis = logarithmic(values)
        labels = [text for text in axis["ticktext"] if text]
        shown = [
            f"{value:g}"
            for value, text in zip(axis["tickvals"], axis["ticktext"], strict=False)
            if text
        ]
        assert labels == shown
        assert len(labels) <= MOST_LABELS
