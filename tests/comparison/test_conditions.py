"""Which runs are compared, and what pairs them, is chosen."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from l4strace import errors
from l4strace.comparison import comparison, sides, text
from l4strace.comparison.comparison import Pairing
from l4strace.schema.sweep import SWEEP_TABLES
from l4strace.studies.cells import Tables


def study(**more: float) -> Tables:
    """Two kernels at two rates; `day` differs from run to run, `more` are further measures."""
    rng = np.random.default_rng(1)
    rows = [
        {"run": f"{kernel}-{rate}-{i}", "status": "ok", "repetition": str(i), "p_kernel": kernel,
         "p_rate": rate, "p_rtt": f"{rate}ms", "p_day": i, "p_aqm": "CoDel" if i % 2 else None,
         "l4s_share": float(rng.normal(0.5 if kernel == "new" else 0.1, 0.01))}
        for kernel in ("old", "new") for rate in (4, 8, 40) for i in range(6)
    ]  # fmt: skip
    frame = pl.DataFrame(rows)
    parts = [frame.select("run", value="l4s_share", name=pl.lit("l4s_share"))]
    for name, factor in more.items():
        parts.append(frame.select("run", value=pl.col("l4s_share") * factor, name=pl.lit(name)))
    return {
        "runs": frame.drop("l4s_share"),
        "flows": SWEEP_TABLES["flows"].empty(),
        "findings": SWEEP_TABLES["findings"].empty(),
        "measures": SWEEP_TABLES["measures"].conform(pl.concat(parts)),
    }


@pytest.mark.parametrize(
    ("condition", "rates"),
    [("rate=4,40", {4, 40}), ("rate=4..8", {4, 8}), ("rate!=4", {8, 40}), ("rate=4.0", {4}),
     ("rate>=8", {8, 40}), ("rate<8", {4}), ("rtt=5ms..", {8, 40}), ("rtt=8ms", {8}),
     ("aqm!=CoDel", {4, 8, 40}), ("rate=..8", {4, 8})],
)  # fmt: skip
def test_lists_ranges_not_and_numbers_as_numbers(condition: str, rates: set[int]):
    assert set(sides.where(study(), [condition])["runs"]["p_rate"]) == rates


@pytest.mark.parametrize("condition", ["rate=5", "speed=4", "rate>fast", "rate"])
def test_a_condition_that_leaves_no_run_is_an_error(condition: str):
    with pytest.raises(errors.UsageError):
        sides.where(study(), [condition])


def compared(pairing: Pairing | None = None, **more: float) -> comparison.Comparison:
    both = sides.of_parameter(study(**more), "kernel", ["old", "new"])
    return comparison.compare(both, pairing=pairing)


def test_what_pairs_runs_is_chosen():
    assert compared().parameters == ("rate", "rtt", "day", "aqm")
    ignored = compared(Pairing(ignored=("day", "aqm", "rtt")))
    assert ignored.parameters == ("rate",)
    assert ignored.measures[0].cells["runs_before"].to_list() == [6, 6, 6]
    assert compared(Pairing(by=("rate",))).parameters == ("rate",)
    with pytest.raises(errors.UsageError, match="no parameter 'speed' pairs"):
        compared(Pairing(by=("speed",)))


def test_one_change_is_reported_once():
    report = text.render(compared(Pairing(by=("rate",)), l4s_of_link=0.9, l4s_goodput=1e6))
    assert report.count("differs in 3 of 3 cells") == 1
    assert "The same change in: l4s_of_link, l4s_goodput" in report


def test_a_text_says_nothing_twice():
    tables = study()
    value = pl.when(pl.col("run").str.contains("-40-")).then(0.5).otherwise("value")
    tables["measures"] = tables["measures"].with_columns(value=value)
    both = sides.of_parameter(tables, "kernel", ["old", "new"])
    for line in text.render(comparison.compare(both, pairing=Pairing(by=("rate",)))).splitlines():
        assert line.count("on average") <= 1


def test_a_smallest_effect_of_interest_is_taken_in_points_and_parts():
    both = sides.of_parameter(study(), "kernel", ["old", "new"])
    pairing = Pairing(by=("rate",))
    for least, differs in (("20%", True), ("l4s_share=45%", False), ("0.2", True)):
        result = comparison.compare(both, pairing=pairing, at_least=[least])
        assert result.measures[0].cells["differs"].all() is differs, least
    for wrong in ("lots", "losses=3", "l4s_share=2ms"):
        with pytest.raises(errors.UsageError, match="--at-least"):
            comparison.compare(both, pairing=pairing, at_least=[wrong])
