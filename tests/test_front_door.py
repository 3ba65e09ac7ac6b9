"""What a stranger meets first: the top folder, CI, forms, hooks and image name what exists."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.places import REPOSITORY

TOP = {
    "CHANGELOG.md", "CITATION.cff", "CONTRIBUTING.md", "Dockerfile", "LICENSE", "Makefile",
    "README.md", "SECURITY.md", "collectors", "docs", "fixtures", "l4strace", "pyproject.toml",
    "reports", "tests",
}  # fmt: skip
MAKEFILE = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
WORKFLOWS = sorted((REPOSITORY / ".github/workflows").glob("*.yml"))


def document(path: str) -> Any:
    return yaml.safe_load((REPOSITORY / path).read_text(encoding="utf-8"))


def test_the_top_folder_holds_what_a_stranger_looks_for_and_nothing_else():
    listed = subprocess.run(
        ["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip(f"git lists no files here: {listed.stderr.strip()}")
    top = {name.partition("/")[0] for name in listed.stdout.splitlines()}
    assert {name for name in top if not name.startswith(".")} == TOP


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_calls_targets_and_files_that_exist(path: Path):
    jobs = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values()
    commands = "\n".join(step["run"] for job in jobs for step in job["steps"] if "run" in step)
    for target in re.findall(r"\bmake ([a-z-]+)", commands):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE), target
    for file in re.findall(r"(?:^|\s)((?:tests|\.ci)/[\w./]+)", commands):
        assert (REPOSITORY / file).is_file(), file


def test_ci_runs_the_tests_of_the_readme_and_all_of_them():
    text = (REPOSITORY / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    assert "run: make test\n" in text
    assert ".ci/run\n" in text


def test_a_release_builds_and_checks_what_is_shipped():
    text = (REPOSITORY / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert text.index("make dist") < text.index("tests/test_dist.py") < text.index("gh release")


def test_the_form_asks_for_page_truth_and_version():
    form = document(".github/ISSUE_TEMPLATE/wrong-verdict.yml")
    required = {
        field["id"] for field in form["body"] if field.get("validations", {}).get("required")
    }
    assert required >= {"page", "truth", "version"}


def test_dependabot_looks_where_dependencies_are_declared():
    files = {
        "cargo": "Cargo.toml",
        "docker": "Dockerfile",
        "github-actions": ".github/workflows",
        "pip": "pyproject.toml",
    }
    for update in document(".github/dependabot.yml")["updates"]:
        declared = files[update["package-ecosystem"]]
        assert (REPOSITORY / update["directory"].lstrip("/") / declared).exists()


def test_hooks_fetch_nothing():
    hooks = document(".pre-commit-config.yaml")["repos"]
    assert [repo["repo"] for repo in hooks] == ["local"]
    assert {hook["language"] for hook in hooks[0]["hooks"]} == {"system"}


def test_the_image_is_built_from_what_the_sdist_holds():
    kept = (REPOSITORY / ".dockerignore").read_text(encoding="utf-8").splitlines()
    names = [line[1:] for line in kept if line.startswith("!")]
    assert all((REPOSITORY / name).exists() for name in names)
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    included = re.findall(r'\{ path = "([^"*]+?)/?(?:\*.*)?", format = "sdist" \}', project)
    assert set(included) - {"", "**"} <= set(names)
