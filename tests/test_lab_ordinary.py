"""Runs without L4S as the Internet has them (fixtures/lab/sim/ordinary.py): no untrue warning."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.places import FIXTURES

LAB = FIXTURES / "lab"
SEED, SAMPLE = 8001, 12

pytestmark = [pytest.mark.slow, pytest.mark.needs("zstd")]


@pytest.fixture(scope="module")
def lab() -> Iterator[SimpleNamespace]:
    with pytest.MonkeyPatch.context() as patch:
        for folder in (LAB, LAB / "sim"):
            patch.syspath_prepend(str(folder))
        patch.delenv("CARGO_TARGET_DIR", raising=False)
        names = ("simulate", "ordinary", "rare", "truth", "facts")
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in names})


def test_every_kind_is_drawn_and_none_asks_for_l4s(lab: Any) -> None:
    drawn = [lab.ordinary.draw(SEED, index) for index in range(100)]
    assert drawn == [lab.ordinary.draw(SEED, index) for index in range(100)]
    places = Counter(one.tags[0] for one in drawn)
    assert set(places) == set(lab.ordinary.PLACES)
    assert min(places.values()) > 10
    flows = [flow for one in drawn for flow in one.flows]
    assert {flow.cc for flow in flows} == set(lab.ordinary.CONTROLS)
    assert {flow.kind for flow in flows} == {"bulk", "rate", "short"}
    assert {one.client_ecn for one in drawn} == {
        lab.ordinary.DEFAULT_ECN,
        lab.ordinary.REQUESTS_ECN,
    }


def test_no_warning_is_untrue(lab: Any, tmp_path: Path) -> None:
    program = lab.simulate.program()
    tally = lab.truth.Tally()
    for index in range(SAMPLE):
        one = lab.ordinary.draw(SEED, index)
        assert "FAILED" not in lab.simulate.simulate(one, tmp_path, program)
        folder = tmp_path / one.name
        cache = tmp_path / "diagnoses"
        cache.mkdir(exist_ok=True)
        facts = lab.facts.Facts(json.loads((folder / "truth.json").read_text()))
        for place in ("packets", "receiver", "router"):
            where = cache / place
            where.mkdir(exist_ok=True)
            inputs = lab.truth.INPUTS[place]
            document = lab.truth.diagnose(folder, inputs, where, lab.truth.PROJECT)
            assert isinstance(document, dict), document
            lab.truth.judge_run(facts, document, tally)
    judged = sum(tally.weighty.values(), Counter())
    assert judged["right"] > 0
    assert judged["wrong"] == 0, [run.wrong for run in tally.runs if run.wrong]


def test_rare_runs_are_drawn_and_their_senders_take_their_codepoint(
    lab: Any, tmp_path: Path
) -> None:
    drawn = [lab.rare.draw(SEED, index) for index in range(40)]
    kinds = {one.tags[0]: one for one in drawn}
    assert set(kinds) == {"cubic-ect1", "bbr-ect1", "dctcp", "slow"}
    assert kinds["slow"].rate_kbit <= lab.rare.SLOW_KBIT[1]
    said = lab.simulate.simulate(kinds["cubic-ect1"], tmp_path, lab.simulate.program())
    assert "FAILED" not in said
    name = kinds["cubic-ect1"].name
    facts = lab.facts.Facts(json.loads((tmp_path / name / "truth.json").read_text()))
    port = kinds["cubic-ect1"].flows[0].dport
    assert (facts.sent_as(port), facts.sends_ect1(port), facts.is_prague(port)) == (
        "ect1",
        True,
        False,
    )
