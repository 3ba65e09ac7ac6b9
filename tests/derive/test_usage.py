"""How well a path is used."""

from l4strace.derive import usage
from tests.support.frames import MS
from tests.support.slots import slots

RAMP = [{"delivered_bps": 50e6 * n / 40} for n in range(1, 41)]
LOW = {"count": 40, "delivered_bps": 20e6}
FULL = {"count": 20}


def test_the_way_to_80_percent_is_timed() -> None:
    """From 5 % (slot 2 of 40) to 80 % (slot 32)."""
    assert usage.of(slots(*RAMP, FULL), 50e6)["ramp_ns"] == 30 * 100 * MS


def test_a_ramp_that_the_application_holds_back_has_no_time() -> None:
    held = [slot | {"held_back": 1.0} for slot in RAMP]
    assert usage.of(slots(*held, FULL), 50e6)["ramp_ns"] is None


def test_low_time_is_counted_after_the_ramp() -> None:
    found = usage.of(slots(*RAMP, FULL, LOW, FULL), 50e6)
    assert found["low_ns"] == 40 * 100 * MS


def test_low_time_with_a_queue_or_held_back_or_seen_at_the_receiver_is_none() -> None:
    for other in ({"queue_us": 5_000.0}, {"held_back": 1.0}, {"queue_us": None}):
        assert usage.of(slots(FULL, LOW | other, FULL), 50e6)["low_ns"] == 0


def test_what_jitter_adds_is_no_queue() -> None:
    """Simulated run s8104-092: 9 ms of jitter on a path that its flow never fills."""
    noisy = LOW | {"queue_us": 5_000.0, "noise_us": 9_000.0}
    assert usage.of(slots(FULL, noisy, FULL), 50e6)["low_ns"] == 40 * 100 * MS


def test_flows_that_never_fill_the_path_are_judged_from_the_end_of_slow_start() -> None:
    """They reach 50 Mbit/s and grow by one packet a round trip: slow start would take ten (1 s)."""
    growing = slots(*(slot | {"least_us": 100_000.0} for slot in RAMP))
    assert usage.of(growing, 50e6, shown=True)["low_ns"] == 0
    found = usage.of(growing, 50e6, shown=False)
    assert found["low_ns"] == (23 - 10) * 100 * MS
    assert found["low_share"] == 13 / 29
