"""Options that several commands share."""

import json
from pathlib import Path

import pytest

from l4strace.errors import UsageError


def test_every_command_selects_alike(call, fixtures: Path):
    sample = fixtures / "misfire" / "misfire.pcap.xz"
    words = (sample, "--no-companions", "--port", "5202", "--from", "2", "--to", "4")
    flows = json.loads(call("flows", *words, "--json").stdout)["flows"]
    diagnosed = json.loads(call("diagnose", *words, "--json").stdout)
    # Flow 2 is over by then.
    assert {flow["flow"] for flow in flows} == {3}
    assert diagnosed["flows"] == flows
    assert {finding["flow"] for finding in diagnosed["findings"]} <= {None, 3}
    packets = call("export", "packets", *words).stdout.splitlines()
    rounds = call("export", "rounds", *words).stdout.splitlines()
    assert {line.split(",")[6] for line in packets[1:]} == {"3"}
    assert {line.split(",")[1] for line in rounds[1:]} == {"3"}


@pytest.mark.parametrize("command", [("diagnose",), ("flows",), ("export", "rounds")])
def test_a_selection_without_flows_is_refused(call, sample: Path, command: tuple[str, ...]):
    result = call(*command, sample, "--port", "9")
    assert isinstance(result.exception, UsageError)
    assert list(sample.parent.glob("*.html")) == []
