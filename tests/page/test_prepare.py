"""What is prepared at build time changes no byte of a page, and is not used for anything else."""

from __future__ import annotations

from pathlib import Path

import pytest

from l4strace import installed
from l4strace.page import fill, prepare, render
from l4strace.page.drawing import bundle
from tests.support import synthetic


@pytest.fixture
def reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the templates for this test alone, with nothing prepared."""
    source, copy = installed.path("reports"), tmp_path / "reports"
    for path in source.rglob("*"):
        if path.is_file():
            target = copy / path.relative_to(source)
            target.parent.mkdir(exist_ok=True, parents=True)
            target.write_bytes(path.read_bytes())
    monkeypatch.setattr(installed, "path", lambda _: copy)
    monkeypatch.setattr(installed, "prepared", lambda: tmp_path / "prepared")
    bundle.script.cache_clear()
    return copy


def page() -> str:
    bundle.script.cache_clear()
    return render(synthetic.misfire(), synthetic.misfire_analysis())


@pytest.mark.slow
def test_the_same_bytes_with_and_without(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = page()
    assert not installed.prepared().exists()
    prepare.prepare()
    monkeypatch.setattr(bundle, "compressed", None)
    monkeypatch.setattr("jinja2.environment.Environment.compile", None)
    assert page() == plain


@pytest.mark.slow
def test_other_sources_are_not_served_from_it(reports: Path) -> None:
    prepare.prepare()
    template = reports / "sections" / "verdict.html.j2"
    template.write_text(template.read_text() + "<p>new</p>")
    assert not fill.prepared().exists()
    assert "<p>new</p>" in page()
    other = reports / "other.js"
    other.write_text("/* plotly.js v9 */")
    assert not bundle.prepared(other).exists()


def test_templates_come_with_their_bytecode(reports: Path) -> None:
    prepare.prepare()
    templates = fill.prepared()
    compiled = {path.name.split(".")[0] for path in templates.rglob("*.pyc")}
    assert compiled == {path.stem for path in templates.glob("*.py")} != set()


def test_preparing_again_leaves_nothing_of_before(reports: Path) -> None:
    prepare.prepare()
    (reports / "macros.html.j2").write_text("{# another #}")
    prepare.prepare()
    assert len(list(installed.prepared().iterdir())) == 2
