"""What is generated from the code is current."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from l4strace import cli, rules
from l4strace.wording import rule_text
from tests.support.places import REPOSITORY

SPEC = importlib.util.spec_from_file_location("generate", REPOSITORY / "docs" / "generate.py")
assert SPEC
assert SPEC.loader
generate = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(generate)


@pytest.mark.parametrize("name", generate.GENERATED)
def test_the_shipped_file_is_the_generated_one(name: str) -> None:
    shipped = (REPOSITORY / name).read_text(encoding="utf-8")
    assert shipped == generate.GENERATED[name](), "run `make docs`"


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site") / "source"
    generate.site(folder)
    return folder


def test_the_site_has_a_page_for_each_rule_and_table_and_every_command(sources: Path) -> None:
    for rule in rules.RULES:
        page = (sources / f"rules/{rule.code}.md").read_text(encoding="utf-8")
        assert page.startswith(f"# {rule.code} {rule.name}\n")
        assert re.findall("^## (.*)", page, re.MULTILINE) == list(rule_text.HEADINGS)
    for name, table in generate.tables():
        page = (sources / f"tables/{name}.md").read_text(encoding="utf-8")
        assert all(f"| `{column.name}` |" in page for column in table.columns)
    line = (sources / "cli.md").read_text(encoding="utf-8")
    assert all(f"Usage: l4strace {command} " in line for command in cli.COMMANDS)


def test_text_means_nothing_to_markdown_but_code_stays() -> None:
    assert generate.escaped("a_b <c> `d_e|f` *g*") == r"a\_b \<c\> `d_e\|f` \*g\*"


@pytest.mark.slow
def test_the_site_builds_without_a_warning(sources: Path, tmp_path: Path) -> None:
    command = ["-m", "sphinx", "-W", "-q", "-b", "dummy", "-d", str(tmp_path / "trees")]
    done = subprocess.run(
        [sys.executable, *command, str(sources), str(tmp_path / "out")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
