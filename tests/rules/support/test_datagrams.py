import polars as pl
import pytest

from l4strace import rules
from l4strace.evidence import Evidence
from l4strace.model import Confidence, Finding, Severity, Skipped, Status
from l4strace.rules.l4s104_ecn_bleached import RULE
from l4strace.rules.support import datagrams
from l4strace.rules.support.status import status
from l4strace.schema.words import CODEPOINTS
from tests.support.ends import findings, sent
from tests.support.frames import evidence, frame, stack
from tests.support.sender_logs import saw, whole


def flow(
    number: int, transport: str, *, vantage: str = "client", **counts: int
) -> tuple[pl.DataFrame, pl.DataFrame]:
    packets = sum(counts.values())
    plain = dict.fromkeys(("not_ect", "ect1", "ect0", "ce"), 0)
    return frame("flows", flow=number, transport=transport, mode=None, vantage=vantage), frame(
        "directions",
        flow=number,
        packets=packets,
        payload_bytes=packets * 1200,
        **(plain | counts),
    )


def over_udp(*flows: tuple[pl.DataFrame, pl.DataFrame], **tables: pl.DataFrame) -> Evidence:
    return evidence(
        udp_flows=stack(*(one for one, _ in flows)),
        udp_directions=stack(*(one for _, one in flows)),
        **tables,
    )


def test_one_flow_is_named_with_its_marks() -> None:
    found = status(over_udp(flow(0, "quic", ect1=90, ce=10)))
    assert (found.answer, found.udp_flows, found.udp_ect1, found.flows) == ("partly", 1, 1, 0)
    assert found.sentence == (
        "In part: flow 0 (QUIC) sends ECT(1), 10 % of its packets are CE; "
        "which queue it meets is not judged."
    )
    assert found.unjudged == (
        "1 flow over UDP (QUIC): 100 packets, 90 % ECT(1) and 10 % CE. "
        "Loss, RTT, queue and response to marks are not judged: QUIC encrypts its feedback. "
        "A second capture, at the other end, would show losses and path changes. "
        "The keys of the connection (SSLKEYLOGFILE) would show RTT, losses and marks, "
        "a qlog of the sender the window too."
    )


def test_several_flows_are_counted() -> None:
    found = status(
        over_udp(flow(0, "quic", ect1=90), flow(1, "rtp", ect1=50, ce=50), flow(2, "udp", ect0=9))
    )
    assert found.sentence == (
        "In part: 2 of 3 flows over UDP (QUIC, RTP) send ECT(1), "
        "50 % of the packets of one are CE; which queue they meet is not judged."
    )


def test_no_ect1_is_a_no() -> None:
    assert status(over_udp(flow(0, "udp", not_ect=9))).sentence == (
        "No: flow 0 (UDP) sends Not-ECT."
    )
    two = over_udp(flow(0, "udp", not_ect=9), flow(1, "quic", ect0=9))
    assert status(two).sentence == "No: none of 2 flows over UDP (QUIC, UDP) sends ECT(1)."
    assert (
        status(over_udp(flow(0, "quic", ce=9))).sentence == "Unknown: flow 0 (QUIC) sends only CE."
    )


@pytest.mark.parametrize("vantage", ["unknown", "server"])
def test_a_sender_that_was_not_captured_is_not_said_to_send_what_arrives(vantage: str) -> None:
    erased = flow(0, "quic", vantage=vantage, not_ect=9)
    assert status(over_udp(erased)).sentence == "No: flow 0 (QUIC) is Not-ECT at this capture."
    two = over_udp(erased, flow(1, "udp", ect0=9))
    assert status(two).sentence == (
        "No: none of 2 flows over UDP (QUIC, UDP) is ECT(1) at this capture."
    )
    marked = over_udp(flow(0, "quic", vantage=vantage, ce=9))
    assert status(marked).sentence == "Unknown: flow 0 (QUIC) is only CE at this capture."


def test_not_ect_has_no_marks_to_respond_to() -> None:
    alone = datagrams.unjudged(over_udp(flow(0, "udp", not_ect=9)))
    assert alone.startswith(
        "1 flow over UDP: 9 packets, 100 % Not-ECT. Loss, RTT and queue are not judged: "
    )
    kind, sent = flow(0, "udp-prague", not_ect=9)
    assert datagrams.unjudged(evidence(flows=kind, directions=sent)) == (
        "1 flow over UDP (UDP Prague): 9 packets, 100 % Not-ECT. "
        "A second capture, at the other end, would show path changes."
    )


def test_keys_in_vain_are_not_asked_for_again() -> None:
    why = "no key of the log opens a connection"
    vain = frame("stats", name="keys_unused", detail=f"QUIC stays encrypted: {why}.")
    given = over_udp(flow(0, "quic", ect1=9), stats=vain)
    assert datagrams.unjudged(given).endswith(" No key of the log opens a connection.")
    (reason,) = datagrams.unread(datagrams.flows(given))
    assert reason.reason.endswith(f": QUIC encrypts its feedback; {why}")


@pytest.mark.parametrize(("forward", "of_sender"), [(True, True), (False, False)])
def test_the_log_of_the_receiver_is_not_that_of_the_sender(forward: bool, of_sender: bool) -> None:
    log = frame("kernel", flow=0, forward=forward, delivered=100, delivered_ce=13)
    given = over_udp(
        flow(0, "quic", ect1=90), udp_kernel=log, sources=frame("sources", kind="qlog")
    )
    assert ("The keys of the connection" in datagrams.unjudged(given)) is not of_sender
    (why,) = datagrams.unlogged(given, datagrams.flows(given))
    assert why == Skipped(datagrams.UNSTATED if of_sender else NO_LOG)
    assert ("13 % of its packets are CE by its log" in status(given).sentence) is of_sender


def test_beside_tcp_what_is_sent_as_l4s_comes_first() -> None:
    tcp = {
        "flows": frame("flows", flow=5, mode="none", syn_ace=0, transport="tcp"),
        "directions": frame("directions", flow=5, data_packets=9, data_not_ect=9, payload_bytes=9),
    }
    nobody = "flow 5 did not request AccECN"
    found = status(over_udp(flow(0, "udp-prague", ect1=9), **tcp))
    assert (found.answer, found.flows) == ("partly", 1)
    assert found.sentence.startswith("In part: flow 0 (UDP Prague) sends ECT(1), ")
    assert found.sentence.endswith(f"; {nobody}.")
    found = status(over_udp(flow(0, "udp", not_ect=9), **tcp))
    assert found.sentence == f"No: {nobody}; flow 0 (UDP) sends Not-ECT."


def test_the_capture_near_the_sender_shows_the_codepoint_and_the_other_the_marks() -> None:
    near, far = flow(0, "quic", ect1=100), flow(0, "quic", ect1=80, ce=20)
    tables = {
        "udp_flows": pl.concat([near[0], far[0].with_columns(source=pl.lit(1, pl.UInt16))]),
        "udp_directions": pl.concat([far[1].with_columns(source=pl.lit(1, pl.UInt16)), near[1]]),
    }
    (row,) = datagrams.flows(evidence(**tables)).to_dicts()
    assert (row["codepoint"], row["share"], row["ce"]) == ("ECT(1)", 0.2, 20)
    erased = flow(0, "quic", not_ect=100)[1].with_columns(source=pl.lit(1, pl.UInt16))
    tables["udp_directions"] = pl.concat([erased, near[1]])
    assert datagrams.flows(evidence(**tables))["codepoint"].to_list() == ["ECT(1)"]


def test_judged_is_what_both_ends_or_feedback_show() -> None:
    assert datagrams.judged(over_udp(flow(0, "quic", ect1=9))) == 0
    both = over_udp(flow(0, "quic", ect1=9), flow(1, "udp", ect1=9), paths=frame("paths", flow=0))
    assert datagrams.judged(both) == 1
    kind, sent = flow(0, "rtp", ect1=9)
    told = evidence(flows=kind, directions=sent)
    assert datagrams.judged(told) == 1
    assert datagrams.unjudged(told).endswith(
        "How much it reduces at marks is not judged: which law its sender follows is not known. "
        "A second capture, at the other end, would show path changes."
    )
    kind, sent = flow(0, "udp-prague", ect1=9)
    known_law = datagrams.unjudged(evidence(flows=kind, directions=sent))
    assert f"is not judged: {datagrams.UNREPLAYED}. A second" in known_law


def test_a_log_that_shows_each_reduction_leaves_none_unjudged() -> None:
    logged = whole(saw(2, 0.1)).udp_kernel
    both = frame("paths", flow=0, near=0, far=1)
    for kernel, more in ((logged.clear(), " How much it reduces at marks"), (logged, "")):
        kind, sent = flow(0, "udp-prague", ect1=9)
        told = evidence(flows=kind, directions=sent, udp_kernel=kernel, paths=both)
        said = datagrams.unjudged(told)
        assert said.partition("packets, 100 % ECT(1).")[2][: len(more)] == more
        assert bool(said) is bool(more)


def test_without_udp_nothing_is_said() -> None:
    assert datagrams.unjudged(evidence()) == ""
    assert datagrams.flows(evidence()).is_empty()


def path(number: int, **counts: int) -> pl.DataFrame:
    matched = sum(counts.values())
    plain = {f"{a}_to_{b}": 0 for a in CODEPOINTS for b in CODEPOINTS}
    return frame("paths", flow=number, near=0, far=1, matched=matched, lost=0, **(plain | counts))


def judged(found: Evidence) -> Status:
    return status(found, findings(RULE, found))


def test_a_path_that_erases_every_ect1_makes_it_a_no() -> None:
    erased = {"paths": path(0, ect1_to_not_ect=90)}
    found = judged(over_udp(flow(0, "quic", ect1=90), **erased))
    assert found.sentence == "No: flow 0 (QUIC) sends ECT(1), but the path erases it (L4S104)."
    assert found.unjudged.endswith(
        " RTT and response to marks are not judged: QUIC encrypts its feedback. "
        "The keys of the connection (SSLKEYLOGFILE) would show RTT, losses and marks, "
        "a qlog of the sender the window too."
    )
    two = judged(over_udp(flow(0, "quic", ect1=90), flow(1, "rtp", ect1=50), **erased))
    assert two.answer == "partly"
    assert "; the path erases ECT(1) of 1 flow (L4S104); which queue they meet" in two.sentence


def test_an_intact_path_changes_nothing_about_the_answer() -> None:
    intact = {"paths": path(0, ect1_to_ect1=90)}
    assert judged(over_udp(flow(0, "quic", ect1=90), **intact)).answer == "partly"


def test_what_a_sender_gave_up_is_said() -> None:
    gave_up = Finding(Severity.WARNING, Confidence.HIGH, "", rule="L4S210", flow=0)
    found = status(over_udp(flow(0, "udp-prague", not_ect=90, ect1=1)), [gave_up])
    assert found.sentence == "No: flow 0 (UDP Prague) sends Not-ECT; flow 0 gave L4S up (L4S210)."


HIDDEN = (
    "1 flow over UDP (QUIC): QUIC encrypts its feedback; "
    "the keys of the connection (SSLKEYLOGFILE) would show it"
)
NO_LOG = "1 flow over UDP (QUIC): only the log of the sender (qlog) shows its window"
LACKS = {
    **dict.fromkeys(("L4S102", "L4S112", "L4S202", "L4S203", "L4S204", "L4S206"), HIDDEN),
    **dict.fromkeys(("L4S401", "L4S402", "L4S503", "L4S504"), HIDDEN),
    **dict.fromkeys(("L4S205", "L4S308"), NO_LOG),
}


@pytest.mark.parametrize("code", LACKS)
def test_each_rule_names_the_input_that_it_lacks(code: str) -> None:
    (rule,) = rules.select([code])
    (why,) = rule.ask(over_udp(flow(0, "quic", ect1=90, ce=10)))
    assert why == Skipped(LACKS[code], rule=code)


def test_a_tunnel_is_not_accused_of_what_it_carries() -> None:
    """Every rule is asked: the path alone is to blame for what it erases."""
    erased = path(0, ect1_to_not_ect=5000)
    for transport, codes in (("udp", {"L4S104"}), ("quic", {"L4S104", "L4S116"})):
        scene = sent([1, 5000], transport, paths=erased)
        assert {one.rule for rule in rules.RULES for one in findings(rule, scene)} == codes
    alone = datagrams.unjudged(over_udp(flow(0, "udp", ect1=90)))
    assert "what runs over plain UDP is not known, and it may be a tunnel." in alone


def test_what_is_read_lacks_nothing_and_a_useless_log_is_named() -> None:
    evidence = over_udp(flow(0, "quic", ect1=90), flow(1, "rtp", ect1=50), flow(2, "udp", ect0=9))
    known = datagrams.flows(evidence)
    assert [one.reason.split(":")[0] for one in datagrams.unread(known)] == [
        "1 flow over UDP (QUIC)",
        "1 flow over UDP (RTP)",
    ]
    assert datagrams.unread(known.with_columns(reported=True)) == []
    logs = frame("kernel", flow=0, forward=True)
    given = over_udp(flow(0, "quic", ect1=90), udp_kernel=logs)
    assert datagrams.unlogged(given, known) == [Skipped(datagrams.UNSTATED)]
