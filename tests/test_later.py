"""What a short command does not need is executed when it is asked for, and not before."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

from tests.support.places import FIXTURES

ASKED = """
import sys
from l4strace.later import load_late
load_late()
import polars
assert "email" not in sys.modules, "importlib.metadata was executed"
from importlib.metadata import version
print(version("polars"))
"""

DIAGNOSED = """
import sys
from l4strace.cli import main
sys.argv = ["l4strace", "diagnose", {capture!r}, "-o", {page!r}]
try:
    main()
except SystemExit:
    print("email" in sys.modules)
"""


def printed(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()[-1]


def test_a_module_that_is_put_off_is_whole_when_it_is_asked_for() -> None:
    assert printed(ASKED) == version("polars")


def test_a_diagnosis_with_its_page_needs_none_of_them(tmp_path) -> None:
    capture = str(FIXTURES / "misfire/misfire.pcap.xz")
    page = tmp_path / "run.html"
    assert printed(DIAGNOSED.format(capture=capture, page=str(page))) == "False"
    assert page.exists()
