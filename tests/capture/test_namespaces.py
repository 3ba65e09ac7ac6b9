"""A capture records the sockets of its own network namespace, unless all are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.capture.test_endings import log_of
from tests.support.network import LEFT_ADDRESS, PORT, RIGHT_ADDRESS, network, on_the_host

pytestmark = on_the_host


@pytest.mark.parametrize("kernel", ["tracefs", "bcc", "diag"])
@pytest.mark.parametrize("wanted", ["own", "all"])
def test_whose_sockets_are_recorded(tmp_path: Path, kernel: str, wanted: str) -> None:
    words = ["--all-namespaces"] if wanted == "all" else []
    with network() as net:
        stem = tmp_path / "run"
        done = net.capture(
            "-o", str(stem), "--kernel", kernel, *words, "--filter", f"tcp port {PORT}", "--",
            *net.send(1.0),
        )  # fmt: skip
    if done.returncode == 4 and kernel != "tracefs":
        pytest.skip(done.stderr.splitlines()[-1])
    assert done.returncode == 0, done.stderr
    seen = {record["saddr"] for record in log_of(stem) if record["type"] == "sample"}
    if wanted == "all" and kernel != "diag":
        assert seen == {LEFT_ADDRESS, RIGHT_ADDRESS}
    else:
        assert seen == {LEFT_ADDRESS}
    assert ("this network namespace only" in done.stderr) == (wanted == "all" and kernel == "diag")
