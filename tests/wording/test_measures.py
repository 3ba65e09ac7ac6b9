"""A measure in words."""

from l4strace.model import Measure
from l4strace.wording import measures


def test_a_measure_has_name_value_and_what_was_expected():
    assert measures.line(Measure("cut", 0.25, "share", "half")) == "cut: 25 % (expected half)"
    assert measures.line(Measure("queue delay", 412.0, "us")) == "queue delay: 412 us"
