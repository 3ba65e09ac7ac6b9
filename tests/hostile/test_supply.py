"""What is built from: every run-time dependency is bounded, and CI's are pinned with hashes."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys

from tests.support.places import REPOSITORY

PROJECT = (REPOSITORY / "pyproject.toml").read_text()
LOCK = (REPOSITORY / ".ci/requirements.txt").read_text()
PLOTLY = (
    "pkg:npm/plotly.js-basic-dist-min@4.1.1",
    "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba",
)
"""Package, and SHA-256 of its `plotly-basic.min.js`."""


def runtime() -> list[str]:
    listed = PROJECT.partition("\ndependencies = [")[2].partition("\n]")[0]
    return re.findall(r'"([^"]+)"', listed)


def test_run_time_dependencies_have_a_lower_and_an_upper_bound():
    assert len(runtime()) == 5
    for requirement in runtime():
        assert ">=" in requirement, requirement
        assert "<" in requirement, requirement


def test_the_lock_pins_each_with_hashes_and_names_no_host():
    assert "://" not in LOCK
    for requirement in runtime():
        name = re.match(r"[\w.-]+", requirement)[0]
        assert re.search(rf"^{name}==[\w.]+ \\\n    --hash=sha256:", LOCK, re.MULTILINE), name


def test_plotlys_script_is_the_one_that_was_published():
    script = (REPOSITORY / "reports" / "plotly-basic.min.js").read_bytes()
    assert hashlib.sha256(script).hexdigest() == PLOTLY[1]


def test_the_sbom_lists_python_packages_and_crates():
    script = str(REPOSITORY / ".ci" / "sbom.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    urls = [component["purl"] for component in document["components"]]
    assert len(urls) == len(set(urls))
    for part in ("pkg:pypi/polars@", "pkg:pypi/markupsafe@", "pkg:cargo/pyo3@", PLOTLY[0]):
        assert any(url.startswith(part) for url in urls), part
    crates = [c for c in document["components"] if c["purl"].startswith("pkg:cargo")]
    assert all(len(c["hashes"][0]["content"]) == 64 for c in crates)
