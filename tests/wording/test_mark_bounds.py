"""Why a number of CE marks is a range."""

import pytest

from l4strace.wording.mark_bounds import why
from tests.support.frames import frame

SENT = {"data_packets": 20_000, "payload_bytes": 28_960_000, "acked_bytes": 28_960_000}


@pytest.mark.parametrize(
    ("bounds", "sent", "back", "reason"),
    [
        ((11, 11), {}, {}, ""),
        ((None, None), {}, {}, ""),
        (
            (11, 17_213),
            {},
            {"packets": 800, "accecn_options": 0},
            "ACE counts to 7, and without the AccECN option one ACK reports 25 packets on average",
        ),
        (
            (11, 17_213),
            {},
            {"packets": 8_000, "accecn_options": 0},
            "ACE counts to 7, and ACKs are missing or out of order",
        ),
        (
            (1_029, 1_096),
            {"acked_bytes": 28_960_000 - 67 * 1448},
            {"packets": 8_000, "accecn_options": 0},
            "the capture ends before 67 packets were acknowledged",
        ),
    ],
)
def test_a_range_of_marks_has_its_reason(
    bounds: tuple[int | None, int | None],
    sent: dict[str, int],
    back: dict[str, int],
    reason: str,
) -> None:
    """A page showed "11 (11-17,213)" without a word."""
    low, high = bounds
    data = frame("directions", **(SENT | sent), ce_fed_back_lo=low, ce_fed_back_hi=high)
    acks = frame("directions", forward=False, **back)
    assert why(data.row(0, named=True), acks.row(0, named=True)) == reason
