"""Is this L4S at all: the answer, and the step at which the flows stop."""

from typing import Any

import polars as pl
import pytest

from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Severity
from l4strace.rules.support.status import status
from tests.support.frames import evidence, frame, stack
from tests.support.scenes import bottleneck


def flow(
    number: int = 0, *, syn: int | None = 7, mode: str = "accecn", ect1: int = 1000, **more: Any
) -> dict[str, pl.DataFrame]:
    counts = {"data_ect1": ect1, "data_ect0": 1000 - ect1, "data_not_ect": 0, "data_ce": 0}
    return {
        "flows": frame("flows", flow=number, syn_ace=syn, mode=mode, **more),
        "directions": frame("directions", flow=number, **counts),
    }


def without_data(number: int = 0) -> dict[str, pl.DataFrame]:
    none = dict.fromkeys(("data_packets", "data_ect1", "data_ect0", "data_not_ect", "data_ce"), 0)
    return flow(number) | {"directions": frame("directions", flow=number, **none)}


def run(*flows: dict[str, pl.DataFrame], **tables: Any) -> Evidence:
    joined = {name: stack(*(one[name] for one in flows)) for name in ("flows", "directions")}
    return evidence(**joined, **tables)


def queue(kind: str, confidence: float = 0.95) -> pl.DataFrame:
    return bottleneck(kind, confidence=confidence)


@pytest.mark.parametrize(
    ("scene", "answer", "sentence"),
    [
        (
            run(flow(), bottlenecks=queue("l4s")),
            "yes",
            "Yes: flow 0 negotiated AccECN, sends ECT(1), and meets an L4S queue.",
        ),
        (
            run(flow(), flow(1, syn=3, mode="classic", ect1=0), bottlenecks=queue("l4s", 0.7)),
            "yes",
            "Yes: of 2 flows with data 1 requested AccECN, 1 got it, 1 of these sends ECT(1), "
            "and 1 probably meets an L4S queue (flow 0).",
        ),
        (
            run(flow(), bottlenecks=queue("fifo")),
            "partly",
            "In part: flow 0 negotiated AccECN, sends ECT(1), but meets no L4S queue "
            "(bottleneck of flow 0: FIFO).",
        ),
        (
            run(flow(), bottlenecks=queue("fifo", 0.5)),
            "partly",
            "In part: flow 0 negotiated AccECN, sends ECT(1), but possibly meets no L4S queue "
            "(bottleneck of flow 0: FIFO).",
        ),
        (
            run(flow()),
            "partly",
            "In part: flow 0 negotiated AccECN, sends ECT(1), but the packets do not "
            "show which queue it meets.",
        ),
        (
            run(flow(ect1=0)),
            "no",
            "No: flow 0 negotiated AccECN, but its data is ECT(0) at this capture.",
        ),
        (
            run(without_data()),
            "unknown",
            "Unknown: flow 0 negotiated AccECN, but carried no data.",
        ),
        (
            run(without_data(), without_data(1)),
            "unknown",
            "Unknown: of 2 flows 2 requested AccECN, 2 got it, but none carried data.",
        ),
        (
            run(flow(mode="classic", ect1=0, mode_reason="The server answers so.")),
            "no",
            "No: flow 0 requested AccECN, but did not get it. The server answers so.",
        ),
        (
            run(flow(syn=None, mode="unknown")),
            "unknown",
            "Unknown: no handshake of 1 flow with data was captured, 1 has ECT(1) data.",
        ),
        (evidence(), "unknown", "Unknown: no TCP packet and no flow over UDP."),
        (
            evidence(sources=frame("sources", kind="pcap")),
            "unknown",
            "Unknown: no TCP packet and no flow over UDP.",
        ),
        (
            evidence(sources=frame("sources", kind="qlog"), udp_kernel=frame("kernel")),
            "unknown",
            "Unknown: a log holds no packets.",
        ),
        (
            evidence(kernel=frame("kernel")),
            "unknown",
            "Unknown: a kernel log holds no packets.",
        ),
    ],
)
def test_the_answer_names_the_step_at_which_the_flows_stop(
    scene: Evidence, answer: str, sentence: str
) -> None:
    found = status(scene)
    assert (found.answer, found.sentence) == (answer, sentence)


def test_a_setting_that_excludes_the_request_is_named() -> None:
    host = {
        "path": "a/run.host.json",
        "kernel": {"release": "6.18.44"},
        "sysctls": {"net.ipv4.tcp_ecn": "2"},
    }
    silent = run(
        flow(syn=0, mode="none", ect1=0), flow(1, syn=0, mode="none", ect1=0), host_files=(host,)
    )
    assert status(silent).sentence == (
        "No: none of 2 flows with data requested AccECN: net.ipv4.tcp_ecn is 2 (Linux 6.18.44, "
        "run.host.json)."
    )
    asking = {**host, "sysctls": {"net.ipv4.tcp_ecn": "3"}}
    other = run(flow(syn=0, mode="none", ect1=0), host_files=(asking,))
    assert status(other).sentence == "No: flow 0 did not request AccECN."


def test_a_flow_whose_handshake_nobody_saw_is_not_said_to_have_asked_for_nothing() -> None:
    """Lab run s2601-143 began late: "none of 2 flows with data asked" for a flow that had."""
    silent = flow(1, syn=0, mode="none", ect1=0)
    late = run(flow(syn=None, mode="unknown", ect1=0), silent)
    assert status(late).sentence == (
        "No: none of the captured handshakes (1 of 2 flows with data) requested AccECN."
    )


@pytest.mark.parametrize(
    ("rule", "kind", "answer", "end"),
    [
        ("L4S104", "unknown", "no", "sends ECT(1), but the path erases it on the way (L4S104)."),
        ("L4S105", "l4s", "yes", "L4S queue; the path re-marks ECT(1) (L4S105)."),
    ],
)
def test_a_path_that_does_not_leave_ect1_alone_is_named(
    rule: str, kind: str, answer: str, end: str
) -> None:
    fault = Finding(Severity.ERROR, Confidence.HIGH, "The path ...", "", rule=rule, flow=0)
    found = status(run(flow(), bottlenecks=queue(kind)), [fault])
    assert found.answer == answer
    assert found.sentence.endswith(end)
    other = Finding(Severity.ERROR, Confidence.HIGH, "The path ...", "", rule=rule, flow=7)
    assert "on the way" not in status(run(flow()), [other]).sentence


def test_an_l4s_queue_of_a_classic_flow_does_not_count() -> None:
    classic = run(flow(syn=3, mode="classic", ect1=0), bottlenecks=queue("l4s"))
    assert (status(classic).answer, status(classic).l4s_queue) == ("no", 0)


def test_data_that_arrives_as_ce_hides_how_it_was_sent() -> None:
    marked = flow(ect1=0)
    marked["directions"] = frame("directions", data_ect1=0, data_ect0=0, data_not_ect=0, data_ce=9)
    found = status(run(marked))
    assert found.answer == "unknown"
    assert found.sentence.endswith("CE at this capture, which hides how it was sent.")
