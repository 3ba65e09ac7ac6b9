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
        (0.9982, "share", "99.8 %"),
        (0.99999, "share", "99.9 %"),
        (sum([0.1] * 10), "share", "100 %"),
        (129_823, "", "129,823"),
        (0.00012, "", "0.00012"),
        ("010", "", "010"),
        (3, "packet", "3 packets"),
        (1, "packet", "1 packet"),
        (-2500.0, "us", "-2.5 ms"),
    ],
)
def test_quantity(value: float | str, unit: str, expected: str):
    assert quantities.quantity(value, unit) == expected


def test_a_queue_delay_is_no_smaller_than_an_rtt_shows():
    assert quantities.queue_delay(7.41) == quantities.queue_delay(0.0) == "below 100 us"
    assert quantities.queue_delay(421.0) == "421 us"


def test_count():
    assert quantities.count(1, "flow") == "1 flow"
    assert quantities.count(2000, "flow") == "2,000 flows"


@pytest.mark.parametrize(
    ("delay", "packet", "noise", "words"),
    [
        (1010.0, 208.0, 0.0, "1.01 ms"),
        (57.0, 50.0, 0.0, "below 100 us"),
        (483.0, 4200.0, 0.0, "below 4.2 ms (one packet)"),
        (2580.0, 869.0, 10_680.0, "about 3 ms"),
        (17_200.0, 776.0, 0.0, "17.2 ms"),
        (1010.0, 208.0, 1_100.0, "1.01 ms"),
    ],
)
def test_a_marking_delay_is_as_precise_as_packets_and_noise_let_it(
    delay: float, packet: float, noise: float, words: str
):
    row = {"marking_delay_us": delay, "serialisation_us": packet, "noise_us": noise}
    assert quantities.marking_delay(row) == words


def test_a_list_reads_as_one():
    assert [quantities.listed(parts) for parts in (["0"], ["0", "1"], ["0", "1", "4"])] == [
        "0",
        "0 and 1",
        "0, 1 and 4",
    ]


@pytest.mark.parametrize(
    ("us", "expected"),
    [
        (412.0, "0.4 ms"),
        (185_100.0, "185 ms"),
        (2.0, "below 0.1 ms"),
        (0.0, "below 0.1 ms"),
    ],
)
def test_milliseconds_are_never_a_row_of_zeros(us: float, expected: str):
    """Run s8103-002: "queue delay (0.0 ms, threshold 2 ms)", of 2 us."""
    assert quantities.milliseconds(us) == expected


def test_a_bound_needs_no_second_preposition():
    assert quantities.at_delay("5.55 ms") == "at 5.55 ms"
    assert quantities.at_delay("below 100 us") == "below 100 us"
