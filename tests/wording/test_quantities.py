"""Numbers as people read them."""

import pytest

from l4strace.wording import quantities


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (10450.0, "us", "10.4 ms"),
        (412.0, "us", "412 us"),
        (1.5, "us", "1.5 us"),
        (0.0, "us", "0 us"),
        (48_300_000.0, "bit/s", "48.3 Mbit/s"),
        (523, "byte", "523 B"),
        (0.0313, "share", "3.1 %"),
        (12.5, "%", "12 %"),
        (129_823, "", "129,823"),
        (0.00012, "", "0.00012"),
        ("010", "", "010"),
        (3, "packet", "3 packet"),
        (-2500.0, "us", "-2.5 ms"),
    ],
)
def test_quantity(value: float | str, unit: str, expected: str):
    assert quantities.quantity(value, unit) == expected


def test_a_queue_delay_is_no_smaller_than_an_rtt_shows():
    assert quantities.queue_delay(7.41) == quantities.queue_delay(0.0) == "less than 100 us"
    assert quantities.queue_delay(421.0) == "421 us"


def test_count():
    assert quantities.count(1, "flow") == "1 flow"
    assert quantities.count(2000, "flow") == "2,000 flows"
