"""The JSON contract of `docs/json.md`."""

import json
import re
import subprocess
import sys

from tests.support import pages
from tests.support.places import REPOSITORY


def test_the_json_contract_has_the_keys_of_the_page():
    page = pages.text("docs/json.md")
    (example,) = [block for language, block in pages.blocks("docs/json.md") if language == "json"]
    call = "flows --json fixtures/misfire/misfire.pcap.xz"
    printed = json.loads(
        subprocess.run(
            [sys.executable, "-m", "l4strace", *call.split()],
            cwd=REPOSITORY, capture_output=True, text=True, timeout=120,
        ).stdout
    )  # fmt: skip
    assert list(json.loads(example)) == list(printed)
    for key in re.findall(r"`(\w+)`", page.split("**a direction** has")[1].split("More keys")[0]):
        if key not in {"lo", "hi", "best"}:
            assert key in printed["flows"][0]["forward"]
