"""Amounts on the page: the micro sign, and a dash for null."""

import pytest

from l4strace.wording import amounts


def test_the_micro_sign_replaces_the_unit_and_nothing_else():
    assert amounts.micro("412 us, status 3 used") == "412 µs, status 3 used"


@pytest.mark.parametrize("amount", [amounts.number, amounts.duration, amounts.data_size,
                                    amounts.bit_rate])  # fmt: skip
def test_null_is_a_dash(amount):
    assert amount(None) == amounts.NONE
    assert amounts.share(1, 0) == amounts.NONE
