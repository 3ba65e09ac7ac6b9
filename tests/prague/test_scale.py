"""How many bits alpha has, from each kind of proof that a log can hold."""

import polars as pl
import pytest

from l4strace.prague import scale
from tests.support.frames import frame


def ewma(bits: int, upscaled: int, delivered: int, ce: int) -> int:
    """prague_update_alpha: alpha moves by 1/16 of its distance to the marked share."""
    return upscaled - (upscaled >> 4) + (ce << bits) // delivered


def update_log(bits: int, count: int = 6, **columns: object) -> pl.DataFrame:
    """`alpha` samples of rounds of 40 packets, of which 3 are marked, from alpha 0.01 on."""
    upscaled = [(16 << bits) // 100]
    for _ in range(count - 1):
        upscaled.append(ewma(bits, upscaled[-1], 40, 3))
    plain = {
        "event": "alpha",
        "sk": "0x1",
        "saw_ce": True,
        "upscaled_alpha": upscaled,
        "alpha_raw": [value >> 4 for value in upscaled],
        "delivered": [40 * (n + 1) for n in range(count)],
        "old_delivered": [40 * n for n in range(count)],
        "delivered_ce": [3 * (n + 1) for n in range(count)],
        "old_delivered_ce": [3 * n for n in range(count)],
    }
    return frame("kernel", **(plain | columns))


def marked(alpha_raw: int, share: float) -> pl.DataFrame:
    """Per-ACK samples with a constant alpha over 20,000 packets, ``share`` of them marked."""
    counts = [0, 10_000, 20_000]
    return frame(
        "kernel",
        sk="0x1",
        alpha_raw=alpha_raw,
        delivered=counts,
        delivered_ce=[round(count * share) for count in counts],
    )


@pytest.mark.parametrize("bits", scale.BITS)
def test_updates_of_alpha_prove_the_scale(bits: int) -> None:
    assert scale.alpha_bits(update_log(bits)) == bits


def test_two_updates_are_no_proof() -> None:
    assert scale.alpha_bits(update_log(24, count=scale.MIN_UPDATES)) is None


@pytest.mark.parametrize("bits", scale.BITS)
def test_alpha_one_and_the_clamped_score_are_plateaus(bits: int) -> None:
    assert scale.alpha_bits(frame("kernel", alpha_raw=[0, 1 << bits])) == bits
    assert scale.alpha_bits(frame("kernel", classic_ecn_raw=[0, 17 << bits])) == bits


@pytest.mark.parametrize(
    ("alpha_raw", "bits"), [((1 << 20) + 1, 24), ((1 << 24) + 1, 31), ((1 << 20) - 1, None)]
)
def test_a_value_that_is_too_large_excludes_fewer_bits(alpha_raw: int, bits: int | None) -> None:
    assert scale.alpha_bits(frame("kernel", alpha_raw=alpha_raw)) == bits


@pytest.mark.parametrize(("share", "bits"), [(0.01, 24), (0.16, 20), (0.04, None)])
def test_mean_alpha_follows_the_share_of_marks(share: float, bits: int | None) -> None:
    """0.04 lies two octaves from both scales: no proof of either."""
    assert scale.alpha_bits(marked(round(0.01 * 2**24), share)) == bits


def test_few_marks_are_no_proof() -> None:
    assert scale.alpha_bits(marked(1600, (scale.ENOUGH_MARKS - 1) / 20_000)) is None


def test_an_update_pairs_two_samples_of_one_socket() -> None:
    pairs = scale.updates(update_log(20, count=4, sk=["0x1", "0x1", "0x2", "0x2"]))
    assert pairs["sk"].to_list() == ["0x1", "0x2"]
    assert pairs.select("delivered_now", "ce_now").rows() == [(40, 3), (40, 3)]
    for before, after in pairs.select("upscaled_alpha", "upscaled_after").iter_rows():
        assert after == ewma(20, before, 40, 3)


@pytest.mark.parametrize("column", ["g_srtt_shift", "frac_cwnd"])
def test_the_call_before_init_is_left_out(column: str) -> None:
    log = update_log(20, count=4, **{column: [0, 18, 18, 18]})
    assert scale.updates(log).height == 2


def test_counters_wrap() -> None:
    log = update_log(20, count=2, old_delivered=2**32 - 10, delivered=30)
    assert scale.updates(log)["delivered_now"].to_list() == [40]


def test_scaled_values_keep_their_bits() -> None:
    raw = frame("kernel", alpha_raw=[0, 1 << 22], classic_ecn_raw=[17 << 24, 0])
    known = scale.scaled(raw, 24)
    assert known["alpha"].to_list() == [0.0, 0.25]
    assert known["classic_ecn"].to_list() == [17.0, 0.0]
    assert known["alpha_bits"].to_list() == [24, 24]


def test_an_unknown_scale_leaves_both_null() -> None:
    unknown = scale.scaled(frame("kernel", alpha_raw=[1, 2], classic_ecn_raw=[3, 4]), None)
    assert unknown.select("alpha", "classic_ecn").null_count().row(0) == (2, 2)
    assert unknown["alpha_bits"].null_count() == 2


@pytest.mark.parametrize("claimed", [20, 24, None])
def test_the_samples_overrule_the_claim_of_the_header(claimed: int | None) -> None:
    """No type information shows a macro: builds of 20 and of 24 bits share layouts."""
    assert scale.width(update_log(24), claimed) == (24, claimed == 20)


def test_a_claim_that_nothing_contradicts_stands() -> None:
    assert scale.width(marked(1600, 0.001), 24) == (24, False)
    assert scale.width(frame("kernel", alpha_raw=5), None) == (None, False)


def test_a_build_without_detector_proves_its_scale_too() -> None:
    """Its filters keep a shift of 0, which elsewhere means that prague_init has not run."""
    assert scale.alpha_bits(update_log(24, g_srtt_shift=0)) == 24


def test_the_alpha_of_dctcp_is_a_share_already() -> None:
    both = frame("kernel", cc=["dctcp", "prague"], alpha=[0.25, 0.5], alpha_raw=[None, 1 << 20])
    assert scale.scaled(both, 20)["alpha"].to_list() == [0.25, 1.0]
    assert scale.scaled(both.with_columns(alpha_raw=None), 20)["alpha"].to_list() == [0.25, None]
