"""Words: what is emitted is what is read."""

import ast
import re
from collections.abc import Iterator

import pytest

from l4strace.bottleneck import kinds
from l4strace.core import _native
from l4strace.ingest.logs.samples import EVENTS as PROBES
from l4strace.schema import TABLES, words
from l4strace.schema.words import STATS, Stat
from tests.support.places import REPOSITORY

PACKAGE = REPOSITORY / "l4strace"


def attributes(folder: str) -> Iterator[str]:
    """Every `Stat.X` that the modules of ``folder`` use."""
    for path in (PACKAGE / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Stat":
                yield node.attr


def names_of_the_core() -> set[str]:
    """Names in l4strace/native/src/stats.rs, or as the core itself lists them."""
    if hasattr(_native, "stat_names"):
        return set(_native.stat_names())
    source = (PACKAGE / "native/src/read/stats.rs").read_text()
    return set(re.findall(r'Loss::\w+ => "(\w+)"', source.partition("fn severity")[0]))


def test_what_is_emitted_is_declared_and_the_other_way_round() -> None:
    ingest = {getattr(Stat, name) for name in attributes("ingest")}
    core = names_of_the_core()
    assert len(core) >= 12
    assert core | ingest == STATS


def test_what_rules_read_is_emitted_and_by_its_declared_name() -> None:
    read = {getattr(Stat, name) for name in attributes("rules")}
    assert Stat.KERNEL_LOG_NOT_JOINED in read
    assert read <= STATS
    columns = {column for table in TABLES.values() for column in table.schema}
    for path in (PACKAGE / "rules").glob("l4s*.py"):
        code = ast.parse(path.read_text())
        literals = {node.value for node in ast.walk(code) if isinstance(node, ast.Constant)}
        assert not literals & (STATS - columns), f"{path.name} spells a stat's name itself"


def test_importers_emit_no_literal() -> None:
    for path in (PACKAGE / "ingest").rglob("*.py"):
        assert not re.search(r"\.lose\(\s*f?\"", path.read_text()), path.name


def test_what_collectors_lose_has_a_name() -> None:
    text = "".join(path.read_text() for path in (REPOSITORY / "collectors").rglob("*.py"))
    places = set(re.findall(r"\.losing\(\"(\w+)\"", text))
    assert "ring" in places
    assert words.lost_in("ring") == Stat.RING_LOST


def test_every_kind_of_bottleneck_has_a_label() -> None:
    assert {row.kind for row in kinds.ROWS} == words.BOTTLENECKS.keys()


def test_the_table_of_inputs_names_every_kind_of_log() -> None:
    code = "".join(path.read_text() for path in (PACKAGE / "ingest/logs").glob("*.py"))
    made = set(re.findall(r'(?:\bLog\(path, |\.kind = )"([\w-]+)"', code))
    assert {"tc", "qlog", "tcp-probe"} <= made
    (kind,) = (column for column in TABLES["sources"].columns if column.name == "kind")
    assert made <= set(re.findall(r"`([\w-]+)`", kind.sentence))


@pytest.mark.parametrize("event", sorted(set(PROBES.values())))
def test_every_probe_has_a_declared_event(event: str) -> None:
    assert event in words.EVENTS


def test_the_format_names_the_same_events() -> None:
    line = next(
        line
        for line in (REPOSITORY / "collectors/FORMAT.md").read_text().splitlines()
        if line.startswith("| `event` |")
    )
    assert set(re.findall(r"`(\w+)`", line)) - {"event"} == set(words.EVENTS)
