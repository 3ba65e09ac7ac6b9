"""Several unrelated runs in one answer."""

import json
from dataclasses import replace

from l4strace.model import Analysis, Confidence, Finding, Severity, Status
from l4strace.output import markdown, several
from tests.support.frames import evidence, frame

MILD = Finding(Severity.INFO, Confidence.HIGH, "no queue", rule="L4S401")
BAD = Finding(Severity.ERROR, Confidence.HIGH, "bleached", rule="L4S104")


def run(source: int, *findings: Finding) -> several.Judged:
    inputs = evidence(
        sources=frame("sources", source=source, path=f"{source}.pcap"),
        flows=frame("flows", source=source, flow=source),
        directions=frame("directions", source=source, flow=source),
    )
    return inputs, several.named(inputs, Analysis(findings, rules=()))


def test_each_finding_names_its_file():
    _, analysis = run(4, MILD, replace(BAD, source=9))
    assert [finding.source for finding in analysis.findings] == [4, 9]


def test_json_merges_the_lists_and_takes_the_worst_verdict():
    judged = [
        (inputs, replace(analysis, rules=(None,), status=Status(answer, "", flows=flows)))  # type: ignore[arg-type]
        for (inputs, analysis), answer, flows in (
            (run(0, MILD), "yes", 1),
            (run(1, BAD), "no", 2),
        )
    ]
    document = json.loads(several.in_json(judged))
    assert document["verdict"]["sentence"] == "bleached"
    assert [flow["flow"] for flow in document["flows"]] == [0, 1]
    assert [part["files"] for part in document["runs"]] == [["0.pcap"], ["1.pcap"]]
    assert [part["status"]["answer"] for part in document["runs"]] == ["yes", "no"]
    assert document["status"] == document["runs"][1]["status"]


def test_json_has_what_the_logs_of_all_runs_say():
    def logged(flow: int) -> several.Judged:
        inputs, analysis = run(flow)
        log = frame("kernel", source=flow, flow=flow, forward=True, event="ack", delivered=[1, 9])
        sources = frame("sources", source=flow, path=f"{flow}.qlog", kind="qlog")
        return replace(inputs, sources=sources, udp_kernel=log), analysis

    logs = json.loads(several.in_json([logged(0), logged(1)]))["sender_logs"]
    assert [log["flow"] for log in logs] == [0, 1]


def test_text_has_each_under_its_name():
    shown = several.in_text([run(0, MILD), run(1, BAD)], color=False, width=80)
    assert shown.startswith("0.pcap\n======\n\n")
    assert "\n\n1.pcap\n======\n\nbleached" in shown


def test_markdown_keeps_the_limit_of_one_comment():
    many = tuple(replace(BAD, rule=f"L4S{n}", message="x" * 3000) for n in range(100, 140))
    shown = several.in_markdown([run(0, *many), run(1, *many), run(2, BAD)])
    assert len(shown.encode()) <= markdown.MAX_BYTES
    assert shown.count("\n## ") == 2
