"""The JSON contract: its keys, and what a flow's two directions mean."""

import json
import math

from l4strace.model import (
    Analysis,
    Confidence,
    Finding,
    Measure,
    Proof,
    ProofPacket,
    Severity,
    Skipped,
    Status,
)
from l4strace.output import json as as_json
from tests.support.frames import evidence, frame, stack

PROMISED = {
    "packets", "payload_bytes", "not_ect", "ect1", "ect0", "ce", "retransmits", "rtt_min_us",
    "ce_fed_back", "marked_share",
}  # fmt: skip


def test_top_level_keys_are_the_contract():
    document = json.loads(as_json.render(evidence(), Analysis(())))
    assert document["schema"] == 1
    assert document["tool"]["name"] == "l4strace"
    assert {"schema", "tool", "sources", "flows", "findings", "skipped"} <= document.keys()
    assert document["flows"] == document["findings"] == document["skipped"] == []


def test_the_status_has_its_answer_and_its_counts():
    known = Status("no", "No: flow 0 did not request AccECN.", flows=1)
    document = json.loads(as_json.render(evidence(), Analysis((), status=known)))
    assert document["status"] == {
        "answer": "no", "sentence": known.sentence,
        "flows": 1, "asked": 0, "accecn": 0, "ect1": 0, "l4s_queue": 0,
        "udp_flows": 0, "udp_ect1": 0, "udp_judged": 0, "unjudged": "",
    }  # fmt: skip
    assert json.loads(as_json.render(evidence(), Analysis(())))["status"] is None


def test_a_flow_has_both_directions_with_the_promised_keys():
    ways = stack(
        frame("directions", ect1=900, ce_fed_back_lo=4, ce_fed_back_hi=6, ce_fed_back_best=5),
        frame("directions", forward=False, payload_bytes=0, rtt_min_us=None),
    )
    (flow,) = as_json.document(evidence(flows=frame("flows"), directions=ways), Analysis(()))[
        "flows"
    ]
    assert (flow["client"], flow["client_port"]) == ("10.0.1.2", 40001)
    assert (flow["server"], flow["server_port"]) == ("10.0.3.2", 5201)
    assert flow["mode"] == "accecn"
    assert flow["mode_reason"]
    assert flow["forward"].keys() >= PROMISED
    assert flow["forward"]["ce_fed_back"] == {
        "lo": 4, "hi": 6, "best": 5, "why": "ACE counts to 7, and ACKs are missing or out of order",
    }  # fmt: skip
    assert flow["reverse"]["rtt_min_us"] is None


def test_a_direction_that_was_never_seen_counts_zero():
    flows, ways = frame("flows"), frame("directions")
    (flow,) = as_json.document(evidence(flows=flows, directions=ways), Analysis(()))["flows"]
    assert flow["reverse"]["packets"] == 0
    assert flow["reverse"]["ce_fed_back"] == dict.fromkeys(("lo", "hi", "best", "why"))


def test_findings_and_skipped_are_plain_data():
    finding = Finding(
        Severity.ERROR, Confidence.MEDIUM, "bleached", "find it", rule="L4S104",
        source=0, flow=3, forward=True, span_ns=(1, 2), frames=(7,),
        measures=(Measure("share", math.inf, "%", "0"),),
    )  # fmt: skip
    analysis = Analysis((finding,), (Skipped("one capture", rule="L4S109"),))
    document = json.loads(as_json.render(evidence(), analysis))
    (value,) = document["findings"]
    assert (value["rule"], value["severity"], value["confidence"]) == ("L4S104", "error", "medium")
    assert (value["span_ns"], value["frames"]) == ([1, 2], [7])
    assert value["measures"][0]["value"] is None
    assert document["skipped"] == [{"rule": "L4S109", "reason": "one capture", "flow": None}]


def test_a_finding_has_the_packets_that_prove_it_where_they_were_looked_up():
    finding = Finding(Severity.ERROR, Confidence.HIGH, "misfire", rule="L4S301")
    packet = ProofPacket(
        source=0, frame=9, ts_ns=5, flow=0, forward=True, ip_ecn=1, tcp_flags=16, ace=5,
        counters=(1, None, 3), seq=1, ack=None, payload_bytes=0, named=True, shows="acknowledges",
        offset=24, captured_bytes=66, wire_bytes=66,
        header=bytes(12),
    )  # fmt: skip
    known = Analysis((finding, finding), proof=Proof({0: (packet,)}))
    proved, other = json.loads(as_json.render(evidence(), known))["findings"]
    assert proved["packets"] == [
        {
            "source": 0, "frame": 9, "ts_ns": 5, "flow": 0, "forward": True, "ip_ecn": 1,
            "tcp_flags": 16, "ace": 5, "accecn_option": {"e0b": 1, "ceb": None, "e1b": 3},
            "seq": 1, "ack": None, "number": None, "reported": None,
            "payload_bytes": 0, "named": True, "shows": "acknowledges",
        }
    ]  # fmt: skip
    assert other["packets"] is None


def test_each_flow_has_a_line_for_grep():
    ways = stack(frame("directions"), frame("directions", forward=False))
    text = as_json.render(evidence(flows=frame("flows"), directions=ways), Analysis(()))
    (line,) = [line for line in text.splitlines() if '"client": "10.0.1.2"' in line]
    assert json.loads(line)["flow"] == json.loads(text)["flows"][0]["flow"]


def test_logs_of_senders_are_summed() -> None:
    sources = frame("sources", source=[0], kind="qlog", path="run.qlog")
    samples = frame("kernel", source=0, flow=1, forward=True, ecn_state="failed", ts_ns=5)
    seen = evidence(sources=sources, udp_kernel=samples)
    (row,) = as_json.document(seen, Analysis(()))["sender_logs"]
    found = [row[name] for name in ("path", "flow", "ecn_state", "alpha")]
    assert found == ["run.qlog", 1, "failed", None]
