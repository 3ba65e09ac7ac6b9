"""The small cases of fixtures/scripts, through the tracker: each script says what must come out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.core import _native
from tests.support.packet_script import Expectation, Flow, Script, parse, pcap
from tests.support.places import FIXTURES

SCRIPTS = sorted((FIXTURES / "scripts").glob("*.txt"))
ABOUT_TABLES = ("flows", "forward", "reverse")


def tracked(script: Script, folder: Path) -> dict[str, pl.DataFrame]:
    path = folder / "script.pcap"
    path.write_bytes(pcap(script))
    return {name: pl.DataFrame(table) for name, table in _native.track([str(path)]).items()}


def row(tables: dict[str, pl.DataFrame], flow: Flow, table: str) -> dict[str, Any]:
    """The flow's row; the script's client need not be whom the tracker takes for it."""
    port = flow.ends[">"][1]
    is_flow = (pl.col("client_port") == port) | (pl.col("server_port") == port)
    found = tables["flows"].filter(is_flow).row(0, named=True)
    if table == "flows":
        return found
    forward = (table == "forward") == (found["client_port"] == port)
    same = (pl.col("flow") == found["flow"]) & (pl.col("forward") == forward)
    return tables["directions"].filter(same).row(0, named=True)


def wrong(tables: dict[str, pl.DataFrame], script: Script, expected: Expectation) -> str | None:
    flow = next(flow for flow in script.flows if flow.name == expected.flow)
    value = row(tables, flow, expected.table)[expected.column]
    if str(value) == expected.value:
        return None
    return f"{flow.name}: {expected.table} {expected.column} is {value}, not {expected.value}"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_script_gives_what_it_says(path: Path, tmp_path: Path) -> None:
    script = parse(path.read_text())
    tables = tracked(script, tmp_path)
    asked = [one for one in script.expectations if one.table in ABOUT_TABLES]
    assert [text for one in asked if (text := wrong(tables, script, one))] == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_rules_say_what_the_script_expects(path: Path, tmp_path: Path) -> None:
    script = parse(path.read_text())
    capture = tmp_path / "script.pcap"
    capture.write_bytes(pcap(script))
    evidence = pipeline.derive(pipeline.read([str(capture)]))
    said = {found.rule for found in pipeline.judge(evidence, strict=True).findings}
    wanted = {one.column for one in script.expectations if one.table == "rule"}
    unwanted = {one.column for one in script.expectations if one.table == "no-rule"}
    assert wanted <= said
    assert not unwanted & said


def test_there_are_scripts() -> None:
    assert len(SCRIPTS) >= 6


def test_a_wrong_line_is_named() -> None:
    with pytest.raises(ValueError, match=r"line 2: .*unknown word 'colour'"):
        parse("flow a\n+0 > S colour 7\n")


def test_an_expectation_can_fail(tmp_path: Path) -> None:
    script = parse("flow a\n+0 > S ace 7\nexpect flows mode classic\n")
    assert wrong(tracked(script, tmp_path), script, script.expectations[0]) is not None
