"""Flows over UDP against counts of their own programs and of another reader."""

import json
import lzma
from bisect import bisect_left
from pathlib import Path

import polars as pl
import pytest

from l4strace import pipeline
from l4strace.derive.senders import controlled
from l4strace.evidence import Evidence, over_udp, traffic
from l4strace.ingest import datagrams
from l4strace.ingest import packets as stream
from l4strace.ingest.selection import Selection
from l4strace.model import Analysis, Severity
from l4strace.output import text
from l4strace.wording.verdict import counted, verdict

CODEPOINTS = ["not_ect", "ect1", "ect0", "ce"]
RUNS = {
    **dict.fromkeys(("up1", "up8888", "upbleach", "mixup", "mixreno"), "udp-prague"),
    **dict.fromkeys(("pq1", "pqbleach", "qg1", "qgbleach"), "quic"),
    "sc1": "rtp",
}


def judged(path: Path) -> tuple[Evidence, Analysis]:
    evidence = pipeline.derive(pipeline.read([str(path)], companions=False), strict=True)
    return evidence, pipeline.judge(evidence, strict=True)


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("end", ["a", "b"])
def test_codepoints_equal_the_truth_to_the_packet(shared_data: Path, run: str, end: str) -> None:
    folder = shared_data / "user-space"
    (path,) = (folder / run).glob(f"*{end}.pcap*")
    everything = traffic(pipeline.read([str(path)], companions=False))
    sender = pl.when("forward").then("client").otherwise("server")
    rows = everything.directions.join(everything.flows, on=["source", "flow"]).select(
        pl.format("{} from {}", pl.col("transport"), sender).alias("who"), *CODEPOINTS
    )
    sums = rows.group_by("who").sum()
    found = {who.replace(RUNS[run], "udp"): counts for who, *counts in sums.iter_rows()}
    assert found == json.loads((folder / "truth.json").read_text())[run][end]


@pytest.mark.parametrize(
    ("name", "transport", "packets", "ce"),
    [("udp-quic-ce", "quic", 1545, 123), ("udp-rtp-ce", "rtp", 1289, 100)],
)
def test_a_capture_without_tcp_names_its_flow_and_its_marks(
    shared_data: Path, name: str, transport: str, packets: int, ce: int
) -> None:
    evidence, analysis = judged(shared_data / "reports" / f"{name}.pcap.xz")
    larger = traffic(evidence).directions.sort("payload_bytes").tail(1)
    assert larger.select("packets", "ect1", "ce").row(0) == (packets, packets - ce, ce)
    assert evidence.udp_flows["transport"].to_list() == [transport]
    assert evidence.flows.is_empty()
    assert analysis.status is not None
    assert analysis.status.answer == "partly"
    opening = verdict(analysis, counted(evidence))
    assert f"{packets:,} packets" in opening.sentence
    assert "not judged" in opening.sentence
    assert not opening.judged


def test_what_a_flow_over_udp_takes_is_no_change_of_the_link(shared_data: Path) -> None:
    """A link of 10 Mbit/s; from t=3 s to t=6 s a QUIC sender takes 7 of them."""
    evidence, analysis = judged(shared_data / "reports" / "udp-cross-traffic.pcap.xz")
    assert not [one for one in analysis.findings if "capacity" in one.message]
    assert evidence.phases["capacity_bps"].to_list() == [pytest.approx(9.45e6, rel=0.03)]
    (spike,) = (one for one in analysis.findings if one.rule == "L4S503")
    assert spike.message.endswith("Likely cause: another flow started, flow 1 (QUIC, ECT(1)).")
    assert analysis.frame is not None
    assert analysis.frame.sharing == (
        "Flow 0 has 2.56 Mbit/s, flow 1 (QUIC) 6.93 Mbit/s while both send "
        "(what sets the rate of flow 1 is not known)."
    )


@pytest.mark.parametrize(("ends", "mbit"), [("a", 2.35), ("b", 2.34), ("ab", 2.35)])
def test_udp_prague_that_starves_beside_tcp_is_named(
    shared_data: Path, ends: str, mbit: float
) -> None:
    """After t=4 s it has 2 Mbit/s and BBR 17."""
    paths = [str(shared_data / "user-space" / "mixup" / f"{end}.pcap.xz") for end in ends]
    evidence = pipeline.derive(pipeline.read(paths, companions=False), strict=True)
    analysis = pipeline.judge(evidence, strict=True)
    (finding,) = (one for one in analysis.findings if one.severity >= Severity.WARNING)
    assert (finding.rule, finding.flow) == ("L4S501", 2)
    assert finding.message == (
        f"Flow 2 (UDP Prague, ECT(1)) starves from t=2.6 s: {mbit} Mbit/s beside 16.9 Mbit/s of "
        "flow 1 (port 55440, ECT(0)) while both send."
    )
    opening = verdict(analysis, counted(evidence))
    assert opening.sentence == finding.message
    assert "flow 2: 10.9.0.1:33747 > 10.9.0.2:8080" in text.render(evidence, analysis)


@pytest.mark.parametrize("ends", ["a", "ab"])
@pytest.mark.parametrize(
    ("run", "kinds", "capacity_mbit"),
    [
        ("up1", ["l4s"], 19.5),
        ("up8888", ["l4s"], None),
        ("sc1", ["l4s"], None),
        ("mixup", ["l4s", "l4s"], 19.3),
        ("mixreno", ["l4s", "l4s"], 19.3),
        # Not-ECT shows no queue.
        ("upbleach", ["unknown"], 19.6),
    ],
)
def test_feedback_in_clear_shows_the_queue(
    shared_data: Path, run: str, ends: str, kinds: list[str], capacity_mbit: float | None
) -> None:
    """All of them meet a DualPI2 on a link of 20 Mbit/s with headers.

    Of a sender that waits for its reports, or may send as fast as its media, no rate is a capacity.
    """
    paths = [str(shared_data / "user-space" / run / f"{end}.pcap.xz") for end in ends]
    evidence = pipeline.derive(pipeline.read(paths, companions=False), strict=True)
    near = evidence.bottlenecks.filter(source=0)
    assert near["kind"].to_list() == kinds
    (phase,) = evidence.phases.filter(source=0).to_dicts()
    assert phase["capacity_shown"] is (capacity_mbit is not None)
    if capacity_mbit is not None:
        assert phase["capacity_bps"] / 1e6 == pytest.approx(capacity_mbit, abs=0.1)
    status = pipeline.judge(evidence, strict=True).status
    assert status is not None
    assert status.answer == ("yes" if "l4s" in kinds else "no")


def test_a_healthy_run_has_no_fault_but_the_pause_of_its_link(shared_data: Path) -> None:
    """From t=7.09 s the emulated link of up1 held all packets for 0.1 s, as both ends show."""
    for run, expected in (("up1", ["L4S205", "L4S503", "L4S401"]), ("sc1", ["L4S401"])):
        _, analysis = judged(shared_data / "user-space" / run / "a.pcap.xz")
        assert [one.rule for one in analysis.findings] == expected
        assert not any("slower" in one.message for one in analysis.findings)
        codes = {one.rule for one in analysis.skipped if "the rate of its media" in one.reason}
        assert codes == (set() if run == "up1" else {"L4S203", "L4S205", "L4S308"})
        # The replay of its controller shows that UDP Prague responds.
        calm = [one.reason for one in analysis.skipped if one.rule == "L4S202"]
        asked = "1 flow over UDP: too few CE marks to expect a halved rate"
        assert calm == ([] if run == "up1" else [asked])


@pytest.mark.parametrize("run", ["mixup", "mixreno"])
@pytest.mark.parametrize("end", ["a", "b"])
def test_a_link_that_never_changes_is_not_said_to_change(
    shared_data: Path, run: str, end: str
) -> None:
    evidence, analysis = judged(shared_data / "user-space" / run / f"{end}.pcap.xz")
    assert evidence.phases.filter(pl.col("changed") == "capacity").is_empty()
    assert not [one for one in (*analysis.findings, *analysis.skipped) if one.rule == "L4S408"]


def test_udp_prague_and_reno_share_their_link(shared_data: Path) -> None:
    _, analysis = judged(shared_data / "user-space" / "mixreno" / "a.pcap.xz")
    assert not [one for one in analysis.findings if one.rule in ("L4S501", "L4S502")]
    assert analysis.frame is not None
    assert analysis.frame.sharing == (
        "Flow 1 has 9.69 Mbit/s, flow 2 (UDP Prague) 9.54 Mbit/s while both send "
        "(Jain's index 1.00)."
    )
    assert analysis.frame.fallback == (
        "Nothing to judge: it is part of TCP Prague, and no flow over TCP sends ECT(1)."
    )


@pytest.mark.parametrize("end", ["a", "b"])
@pytest.mark.parametrize(
    ("run", "packets", "ce", "most", "interval_ms"),
    [
        ("up1", 12_861, 1519, 1519, 0.629),
        ("up8888", 6132, 292, 292, 25.05),
        ("mixup", 2856, 726, 726, 2.80),
        # Of 148 bytes of a report the capture holds 100: the last one's end is not known.
        ("sc1", 11_640, 871, 893, 19.81),
    ],
)
def test_feedback_in_clear_counts_what_the_receiver_saw(
    shared_data: Path, run: str, end: str, packets: int, ce: int, most: int, interval_ms: float
) -> None:
    """Both ends show the same reports; the truth is what arrived: 1,519, 292, 726 and 872 marks."""
    captured = pipeline.read([str(shared_data / "user-space" / run / f"{end}.pcap.xz")])
    (row,) = traffic(captured).directions.filter(pl.col("reported_packets") > 0).to_dicts()
    assert (row["reported_packets"], row["reported_lost"]) == (packets, 0)
    assert (row["ce_fed_back_lo"], row["ce_fed_back_best"]) == (ce, ce)
    # Acknowledgements of single packets count CE alone.
    apart = run in ("up8888", "sc1")
    assert row["reported_ect1"] == (packets - ce if apart else None)
    assert row["ce_fed_back_hi"] == most
    assert row["report_interval_us"] / 1000 == pytest.approx(interval_ms, rel=1e-3)


@pytest.mark.parametrize(
    ("run", "least_ms", "mean_ms"),
    [("up1", 10.475, 11.33), ("up8888", 10.285, 11.19), ("sc1", 10.338, 11.63)],
)
def test_the_sender_sees_the_round_trip_and_the_receiver_none(
    shared_data: Path, run: str, least_ms: float, mean_ms: float
) -> None:
    """Two times 5 ms of path and the queue; at the receiver a report follows at once."""
    ends = [str(shared_data / "user-space" / run / f"{end}.pcap.xz") for end in ("a", "b")]
    everything = traffic(pipeline.read(ends, companions=False))
    near, far = everything.directions.filter(pl.col("reported_packets") > 0).to_dicts()
    assert near["rtt_min_us"] / 1000 == pytest.approx(least_ms, abs=0.01)
    assert near["rtt_mean_us"] / 1000 == pytest.approx(mean_ms, abs=0.01)
    assert far["rtt_min_us"] < 100
    receiver = "server" if near["forward"] else "client"
    assert everything.flows["vantage"].to_list()[1] == receiver


def test_a_sender_that_waits_for_its_reports(shared_data: Path) -> None:
    """Block acknowledgements every 25 ms and a window of one round trip of 11 ms: half the time."""
    for run, waits, share in (("up8888", 311, 0.51), ("up1", 0, 0.0), ("sc1", 0, 0.0)):
        captured = pipeline.read([str(shared_data / "user-space" / run / "a.pcap.xz")])
        (row,) = traffic(captured).directions.filter(pl.col("reported_packets") > 0).to_dicts()
        lasted_us = (row["last_ns"] - row["first_ns"]) / 1000
        assert row["report_waits"] == waits
        assert row["report_wait_us"] / lasted_us == pytest.approx(share, abs=0.01)


def test_an_error_bit_ends_ect1_for_good(shared_data: Path) -> None:
    run = shared_data / "user-space" / "upbleach"
    (row,) = pipeline.read([str(run / "a.pcap.xz")]).directions.filter("forward").to_dicts()
    assert (row["ect1"], row["l4s_error_frame"]) == (1, 2)


@pytest.mark.parametrize("ends", ["a", "ab"])
def test_a_queue_that_stands_most_of_the_time_is_no_spike(shared_data: Path, ends: str) -> None:
    """68 ms for 6.4 of 8.1 s, behind many short round trips at 5 ms: DualPI2's classic queue."""
    paths = [str(shared_data / "user-space" / "upbleach" / f"{end}.pcap.xz") for end in ends]
    evidence = pipeline.derive(pipeline.read(paths, companions=False), strict=True)
    assert evidence.spikes.is_empty()


@pytest.mark.parametrize(
    ("run", "least", "most", "empty"), [("up1", 0.92, 0.001, 1), ("mixup", 0.96, 0.0015, 1)]
)
def test_the_controller_of_udp_prague_is_replayed(
    shared_data: Path, run: str, least: float, most: float, empty: int
) -> None:
    """Window and pacing rate at the end of each round against the next packet of the log."""
    folder = shared_data / "user-space" / run
    captured = pipeline.read([str(folder / "a.pcap.xz")], companions=False)
    sent = []
    log = lzma.decompress((folder / f"{run}-send.log.xz").read_bytes()).decode()
    for line in log.splitlines():
        values = [value.strip() for value in line.removeprefix("s: ").split(",")]
        if line.startswith("s: ") and len(values) == 16 and values[0].isdigit():
            sent.append((int(values[0]), int(values[10]), int(values[11])))
    started = captured.directions.filter(pl.col("reported_packets") > 0)["first_ns"][0]
    zero_ns = started - 1000 * sent[0][0]
    trips = captured.udp_round_trips
    same, errors = [], []
    for end_ns, window, bps in trips.select("end_ns", "window_packets", "pacing_bps").rows():
        at = bisect_left(sent, ((end_ns - zero_ns) / 1000,))
        if at == len(sent):
            break
        _, rate, allowed = sent[at]
        same.append(window == allowed)
        # It paces 3 % faster and slower by turns.
        errors.append(min(abs(rate / (bps / 8 * by) - 1) for by in (1.03, 1 / 1.03)))
    assert len(same) > 150
    assert sum(same) / len(same) >= least
    assert sorted(errors)[len(errors) // 2] <= most
    assert trips["empty_reductions"].max() == empty
    assert trips["reductions"].max() > 50


@pytest.mark.parametrize(
    ("run", "trips", "reductions"),
    [("up1", 638, 93), ("up8888", 236, 91), ("mixup", 40, 15), ("mixreno", 563, 159)],
)
def test_the_replayed_window_is_what_flies(
    shared_data: Path, run: str, trips: int, reductions: int
) -> None:
    evidence, analysis = judged(shared_data / "user-space" / run / "a.pcap.xz")
    (row,) = controlled.followed(evidence).to_dicts()
    assert (row["trips"], row["reductions"]) == (trips, reductions)
    assert row["share"] >= 0.95
    opening = verdict(analysis, counted(evidence))
    assert "reduces at marks is not judged" not in f"{opening.sentence} {opening.paragraph}"


@pytest.mark.parametrize("run", ["upbleach", "sc1"])
def test_without_marks_or_another_sender_there_is_no_replay_to_follow(
    shared_data: Path, run: str
) -> None:
    evidence, _ = judged(shared_data / "user-space" / run / "a.pcap.xz")
    assert controlled.followed(evidence).is_empty()


@pytest.mark.parametrize(("run", "spins"), [("pq1", True), ("qg1", False), ("qgbleach", False)])
@pytest.mark.parametrize("end", ["a", "b"])
def test_the_spin_bit_shows_the_base_rtt_where_it_spins(
    shared_data: Path, run: str, end: str, spins: bool
) -> None:
    """The path has 10 ms and its queue a millisecond; quic-go never spins."""
    capture = pipeline.read([str(shared_data / "user-space" / run / f"{end}.pcap.xz")])
    shown = capture.udp_directions["spin_rtt_us"].drop_nulls()
    assert shown.len() == (2 if spins else 0)
    assert shown.is_between(10_000, 11_200).all()


@pytest.mark.parametrize("end", ["a", "b"])
def test_packets_of_tcp_are_not_those_of_a_flow_over_udp(shared_data: Path, end: str) -> None:
    """A second pass over the capture numbers the packets of TCP, and so do the flows."""
    evidence, _ = judged(shared_data / "user-space" / "mixup" / f"{end}.pcap.xz")
    of_tcp = pl.col("transport") == "tcp"
    tcp = set(traffic(evidence).flows.filter(of_tcp)["flow"])
    over_udp = set(traffic(evidence).flows.filter(~of_tcp)["flow"])
    counted = evidence.directions.filter(pl.col("flow").is_in(tcp))["packets"].sum()
    found = pl.concat(stream.batches(evidence, columns=["ts_ns", "flow"]))["flow"]
    assert (set(found.drop_nulls()), found.count()) == (tcp, counted)
    wanted = stream.Stretch(frozenset(over_udp))
    assert sum(frame.height for frame in stream.batches(evidence, stretch=wanted)) == 0


@pytest.mark.parametrize(
    ("run", "most", "unread"), [("up1", 1519, 0), ("up8888", 292, 0), ("sc1", 872, 1)]
)
def test_datagrams_report_each_mark_once(
    shared_data: Path, run: str, most: int, unread: int
) -> None:
    """The last report of SCReAM is cut off at 128 bytes, and none repeats it."""
    capture = pipeline.read([str(shared_data / f"user-space/{run}/a.pcap.xz")], companions=False)
    flow = over_udp(capture)["flow"][0]
    (rows,) = datagrams.within(capture, 0, [datagrams.Span(flow, 0, 1 << 62)], 1 << 20)
    assert rows["ce"].sum() == most - unread
    data = rows.drop_nulls("number")
    assert data["number"].diff().drop_nulls().unique().to_list() == [1]
    assert rows["reported"].max() in (data["number"][-1], data["number"][-1] - 1)


@pytest.mark.parametrize("run", ["up1", "up8888", "upbleach"])
def test_a_stretch_after_the_start_is_not_taken_for_it(shared_data: Path, run: str) -> None:
    """The first mark of a stretch is not that of the flow, and times are those of the flow."""
    capture = str(shared_data / "user-space" / run / "a.pcap.xz")
    told = []
    for selection in (Selection(), Selection.of(from_s=4, to_s=7)):
        asked = pipeline.Asked(selection=selection, select=("L4S205", "L4S210", "L4S214"))
        (one,) = pipeline.diagnose([capture], asked)
        told.append(
            {f.rule: f.message.partition(", and the RTT")[0] for f in one.analysis.findings}
        )
    whole, stretch = told
    assert whole.keys() - stretch.keys() <= {"L4S205"}
    assert "L4S205" not in stretch
    assert stretch.items() <= whole.items()
