"""Which functions of Prague this kernel has, as a module and built in."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernel import offsets

MODULE = """\
ffffffffc0a41000 t prague_state\t[tcp_prague]
ffffffffc0a41200 t prague_cong_control\t[tcp_prague]
ffffffffc0a41400 t prague_update_alpha.isra.0\t[tcp_prague]
ffffffffc0a41500 t prague_cong_control.cold\t[tcp_prague]
ffffffffc0a43000 d prague_reno\t[tcp_prague]
ffffffffc0a41600 t bpf_prague_state\t[other]
"""
BUILT_IN = MODULE.replace("\t[tcp_prague]", "")
EXPECTED = {
    "prague_state": "prague_state",
    "prague_cong_control": "prague_cong_control",
    "prague_update_alpha": "prague_update_alpha.isra.0",
}


@pytest.mark.parametrize("text", [MODULE, BUILT_IN], ids=["module", "built in"])
def test_functions_are_found_under_the_names_that_the_compiler_gave(
    tmp_path: Path, text: str
) -> None:
    listing = tmp_path / "kallsyms"
    listing.write_text(text)
    assert offsets.symbols(r"(?:prague|dctcp)_\w+", listing) == EXPECTED
