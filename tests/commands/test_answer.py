"""`diagnose` on captures that have nothing to do with each other."""

import json
from pathlib import Path
from xml.etree import ElementTree as Xml


def test_each_has_its_verdict_and_its_page(call, two: tuple[str, str]):
    alone = [json.loads(call("diagnose", path, "--json").stdout)["verdict"] for path in two]
    result = call("diagnose", *two)
    assert result.exit_code == 1
    titles = [result.stdout.index(f"{path}\n=====") for path in two]
    assert titles == sorted(titles)
    assert Path("mon.html").is_file()
    assert Path("tue.html").is_file()
    document = json.loads(call("diagnose", *two, "--json").stdout)
    assert [run["verdict"]["rule"] for run in document["runs"]] == [v["rule"] for v in alone]
    assert [run["files"] for run in document["runs"]] == [[path] for path in two]
    assert {finding["source"] for finding in document["findings"]} == {0, 1}


def test_the_other_formats_have_a_part_for_each(call, two: tuple[str, str]):
    assert len(json.loads(call("diagnose", *two, "-f", "sarif").stdout)["runs"]) == 2
    suites = Xml.fromstring(call("diagnose", *two, "-f", "junit").stdout)  # noqa: S314 - ours
    assert [suite.attrib["name"] for suite in suites] == list(two)
    shown = call("diagnose", *two, "-f", "markdown").stdout
    assert [line for line in shown.splitlines() if line.startswith("## ")] == [
        f"## {p}" for p in two
    ]


def test_one_page_cannot_hold_two_runs(call, two: tuple[str, str]):
    result = call("diagnose", *two, "-o", "x.html")
    assert str(result.exception) == f"the inputs are 2 unrelated runs: {two[0]}; {two[1]}"
    assert not Path("x.html").exists()


def test_a_port_of_one_run_leaves_out_the_other(call, two: tuple[str, str]):
    (flow, *_) = json.loads(call("flows", two[1], "--json").stdout)["flows"]
    shown = json.loads(call("diagnose", *two, "--json", "--port", flow["client_port"]).stdout)
    assert {source["path"] for source in shown["sources"]} == {two[1]}


def test_redacted_copies_of_one_name_are_still_two_runs(call, two: tuple[str, str]):
    """With --anonymize names are shown without the folders that keep them apart."""
    for folder, path in zip(("mon", "tue"), two, strict=True):
        Path(folder).mkdir()
        Path(path).rename(f"{folder}/run.pcap.xz")
    paths = ["mon/run.pcap.xz", "tue/run.pcap.xz"]
    assert len(json.loads(call("diagnose", *paths, "--json").stdout)["runs"]) == 2
    result = call("diagnose", *paths, "--anonymize")
    assert result.exit_code == 1
    assert all(Path(path).with_name("run.html").is_file() for path in paths)
