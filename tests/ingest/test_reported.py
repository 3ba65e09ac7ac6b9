"""Which flows over UDP stand where those of TCP do."""

from dataclasses import replace

from l4strace.evidence import Capture, over_udp, traffic
from l4strace.ingest.reported import measured
from tests.support.frames import capture, frame, rounds, stack

READ = {"forward": True, "data_packets": 9, "reported_packets": 9}
REPORTS = {"forward": False, "data_packets": 0, "reported_packets": None}


def run(*ways: dict[str, object]) -> Capture:
    """A flow over UDP with these directions, and one over TCP."""
    return capture(
        flows=frame("flows", flow=1),
        directions=frame("directions", flow=1),
        rounds=stack(rounds(2, flow=1), rounds(3, flow=9)),
        udp_flows=frame("flows", flow=9, transport="rtp", mode=None),
        udp_directions=stack(*(frame("directions", flow=9, **way) for way in ways)),
        udp_rounds=rounds(4, flow=9),
    )


def test_a_flow_whose_receiver_reports_is_measured_and_counted_once() -> None:
    found = measured(run(READ, REPORTS))
    assert found.flows["flow"].to_list() == [1, 9]
    assert found.directions.select("flow", "forward").rows() == [(1, True), (9, True), (9, False)]
    assert found.udp_flows.is_empty()
    assert found.udp_directions.is_empty()
    assert found.udp_rounds.is_empty()
    assert found.rounds["flow"].to_list() == [1, 1, 9, 9, 9]
    assert over_udp(found)["flow"].to_list() == [9]


def test_the_log_of_its_sender_is_shown_beside_those_of_kernels() -> None:
    logged = replace(run(READ, REPORTS), udp_kernel=frame("kernel", flow=9))
    shown = traffic(measured(logged))
    assert shown.kernel["flow"].to_list() == [9]
    assert shown.udp_kernel.is_empty()


def test_data_of_which_no_report_is_read_leaves_the_flow_beside() -> None:
    """Else what that direction took of a link would not be counted."""
    silent = {"forward": False, "data_packets": 9, "reported_packets": None}
    found = measured(run(READ, silent))
    assert found.flows["flow"].to_list() == [1]
    assert found.udp_flows["flow"].to_list() == [9]
    assert found.rounds["flow"].to_list() == [1, 1]
    assert found.udp_rounds.height == 4
    assert traffic(found).flows["flow"].to_list() == [1, 9]


def test_the_reports_may_be_read_in_another_capture() -> None:
    """One that holds only the way of the data reads none: what it sent is counted there."""
    one = run(READ, REPORTS)
    blind = frame("directions", source=1, flow=9, forward=True, data_packets=9)
    both = replace(
        one,
        udp_flows=stack(one.udp_flows, frame("flows", source=1, flow=9, transport="rtp")),
        udp_directions=stack(one.udp_directions, blind),
        udp_rounds=stack(one.udp_rounds, rounds(5, source=1, flow=9)),
    )
    found = measured(both)
    assert found.flows.filter(transport="rtp")["source"].to_list() == [0, 1]
    assert set(found.rounds.select("source", "flow").rows()) == {(0, 1), (0, 9)}
    assert found.udp_rounds.select("source", "flow").rows() == [(1, 9)] * 5


def test_the_way_of_the_reports_counts_nowhere() -> None:
    """As acknowledgments of TCP do not."""
    made = run(READ, REPORTS)
    back = rounds(4, flow=9, forward=False)
    found = measured(replace(made, udp_rounds=stack(made.udp_rounds, back)))
    assert found.udp_rounds.is_empty()


def test_without_udp_the_capture_stays_as_it_is() -> None:
    plain = capture(rounds=rounds(2))
    assert measured(plain) is plain
