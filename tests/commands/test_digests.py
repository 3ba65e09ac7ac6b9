"""Checksums of the inputs: computed where an output shows them."""

from pathlib import Path

import pytest

from l4strace.ingest import digest


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        (["diagnose", "--no-html"], False),
        (["diagnose", "--format", "sarif"], False),
        (["diagnose", "--format", "json"], True),
        (["diagnose", "--no-html", "--format", "markdown"], True),
        (["diagnose"], True),
        (["flows"], False),
        (["flows", "--json"], True),
        (["export", "flows"], False),
        (["export", "sources"], True),
    ],
)
def test_a_digest_is_computed_where_the_output_shows_it(
    call, sample: Path, options: list[str], shown: bool, tmp_path: Path
):
    found = digest.sha256(str(sample))
    assert found is not None
    page = tmp_path / "page.html"
    done = call(*options, sample, *(["-o", page] if options == ["diagnose"] else []))
    written = page.read_text() if page.exists() else ""
    assert (found in done.stdout + written) == shown
