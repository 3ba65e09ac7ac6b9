"""The table of sockets that only a log tells of."""

from l4strace.output import socket_lines
from tests.support.frames import evidence, frame

SS = '{{"ss":"ts sack prague retrans:0/{} cwnd:7"}}'


def run(**columns: object) -> list[str]:
    """Lines about one socket of three samples."""
    flows = frame(
        "flows", flow=0, client="10.0.0.1", client_port=1, server="10.0.0.2", server_port=2
    )
    kernel = frame("kernel", **{"flow": [0] * 3, "ts_ns": [0, 1, 2]} | columns)
    return list(socket_lines.lines(evidence(flows=flows, kernel=kernel), [0], 79))


def test_the_numbers_of_a_log_and_what_they_show() -> None:
    lines = run(
        cc="prague", snd_cwnd=[7, 9, 8], srtt_us=[30e3, 40e3, 50e3], min_rtt_us=[10_000] * 3,
        delivered=[100, 200, 300], delivered_ce=[0, 5, 20], extra=[SS.format(n) for n in (0, 3, 4)],
    )  # fmt: skip
    assert lines[0].split() == list(socket_lines.HEADS)
    assert lines[1].split() == (
        [
            "0",
            "10.0.0.1:1",
            "10.0.0.2:2",
            "prague",
            "3",
            "8",
            "40",
            "ms",
            "10",
            "ms",
            "10",
            "%",
            "4",
        ]
    )
    assert " ".join("\n".join(lines[3:]).split()) == (
        "Flow 0: in half of the samples the RTT is 30 ms or more above its least: data waits in a "
        "queue or at a host; 20 of 200 packets were marked CE; 4 retransmissions."
    )


def test_what_a_log_does_not_have_is_left_open() -> None:
    lines = run(cc=None, snd_cwnd=[7, 9, 8])
    assert lines[1].split()[3:] == ["-", "3", "8", "-", "-", "-", "-"]
    assert lines[3:] == []


def test_counters_wrap_and_ss_leaves_out_what_is_zero() -> None:
    near = 2**32 - 50
    lines = run(delivered=[near, near + 20, 50], delivered_ce=[0] * 3, extra='{"ss":"cwnd:7"}')
    assert lines[1].split()[-3:] == ["0", "%", "0"]
    assert lines[3] == "Flow 0: none of 100 packets was marked CE."
    (_, _, _, once) = run(delivered=[0, 1, 1], delivered_ce=[0, 1, 1])
    assert once == "Flow 0: 1 of 1 packet was marked CE."


def test_the_marks_of_a_log_over_udp_are_stated_once() -> None:
    udp = frame("flows", flow=0, transport="udp-prague")
    log = frame("kernel", flow=0, ts_ns=[0, 1], delivered=[1, 11], delivered_ce=[0, 2])
    sources = frame("sources", kind="udp-prague", path="recv.log")
    lines = socket_lines.lines(evidence(flows=udp, kernel=log, sources=sources), [0], 79)
    assert list(lines)[2:] == [
        "window: median, in packets; RTT: median; CE, retx: as the logs count.",
        "Flow 0, log recv.log: counted: 2 CE of 11 packets (18 % marked).",
    ]


def test_silent_where_packets_tell_more() -> None:
    kernel = frame("kernel", flow=0, ts_ns=0, snd_cwnd=7)
    seen = evidence(
        flows=frame("flows", flow=0), directions=frame("directions", flow=0), kernel=kernel
    )
    assert list(socket_lines.lines(seen, [0])) == []
