"""SARIF 2.1.0: rules, results and their places."""

import json

from l4strace import rules
from l4strace.model import Analysis, Confidence, Finding, Severity, Skipped
from l4strace.output import sarif
from tests.support.frames import evidence, frame


def test_a_result_names_its_rule_capture_and_flow():
    run = evidence(sources=frame("sources", path="a b.pcap"), flows=frame("flows"))
    finding = Finding(Severity.NOTICE, Confidence.LOW, "bleached", rule="L4S104", source=0, flow=0)
    analysis = Analysis((finding,), (Skipped("one capture", rule="L4S109"),), rules.RULES)
    document = json.loads(sarif.render(run, analysis))
    assert document["version"] == "2.1.0"
    (sarif_run,) = document["runs"]
    (result,) = sarif_run["results"]
    assert (result["ruleId"], result["level"]) == ("L4S104", "note")
    driver = sarif_run["tool"]["driver"]
    assert driver["rules"][result["ruleIndex"]]["id"] == "L4S104"
    (place,) = result["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "a%20b.pcap"
    assert place["logicalLocations"][0]["fullyQualifiedName"] == "10.0.1.2:40001 > 10.0.3.2:5201"
    notes = sarif_run["invocations"][0]["toolExecutionNotifications"]
    assert notes[0]["associatedRule"]["id"] == "L4S109"


def fingerprints(client_port: int, *flows: int) -> list[str]:
    ports = [client_port + flow for flow in flows]
    run = evidence(
        sources=frame("sources"), flows=frame("flows", flow=list(flows), client_port=ports)
    )
    found = tuple(
        Finding(Severity.ERROR, Confidence.HIGH, "x", rule="L4S104", flow=f) for f in flows
    )
    (part,) = json.loads(sarif.render(run, Analysis(found)))["runs"]
    return [result["partialFingerprints"][sarif.FINGERPRINT] for result in part["results"]]


def test_the_same_fault_has_the_same_fingerprint_in_the_next_run():
    one, two = fingerprints(40000, 0, 1), fingerprints(51000, 4, 7)
    assert one == two
    assert len(set(one)) == 2
