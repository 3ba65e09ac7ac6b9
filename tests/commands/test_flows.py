"""`flows`: one line per direction, and the same JSON as `diagnose`."""

import json
from pathlib import Path


def test_a_line_per_direction_that_carries_data(call, sample: Path):
    lines = call("flows", sample).stdout.splitlines()
    assert lines[0].split()[:3] == ["flow", "from", "to"]
    assert "10.77.1.2:46922" in lines[1]
    assert "ECT(1)" in lines[1]
    assert max(map(len, lines)) <= 80


def test_json_has_the_same_top_level_keys_and_no_judgement(call, sample: Path):
    flows = json.loads(call("flows", sample, "--json").stdout)
    diagnosis = json.loads(call("diagnose", sample, "--json").stdout)
    assert flows.keys() == diagnosis.keys()
    assert flows["flows"] == diagnosis["flows"]
    assert flows["findings"] == flows["skipped"] == []
    assert diagnosis["verdict"]["sentence"]
    assert flows["verdict"] is None


def test_a_time_is_counted_from_the_start_of_each_run(call, two: tuple[str, str]):
    alone = [json.loads(call("flows", path, "--json", "--to", "1").stdout) for path in two]
    both = json.loads(call("flows", *two, "--json", "--to", "1").stdout)
    counted = [flow["forward"]["packets"] for flow in both["flows"]]
    assert counted == [flow["forward"]["packets"] for one in alone for flow in one["flows"]]
