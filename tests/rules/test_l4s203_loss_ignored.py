"""Loss without an answer."""

from dataclasses import replace

import polars as pl

from l4strace.evidence import Evidence
from l4strace.model import Finding, Severity, Skipped
from l4strace.rules.l4s203_loss_ignored import check
from tests.support import sender_logs
from tests.support.frames import evidence, frame
from tests.support.scenes import DIRECTIONS, FLOWS, bottleneck, packet_cuts, path_noise, two_flows


def scene(tables: dict[str, object] | None = None, **columns: object):
    plain = {"cause": "loss", "fraction": 0.0, "fraction_lo": 0.0, "fraction_hi": 0.04}
    cuts = packet_cuts(10, **(plain | columns))
    return two_flows(cuts=cuts, **tables or {})


def test_fires_when_the_flight_survives_every_episode() -> None:
    (found,) = check(scene())
    assert (found.flow, found.severity, [m.value for m in found.measures]) == (
        0,
        Severity.WARNING,
        [0.0],
    )


def test_fires_as_notice_on_bbr_which_does_so() -> None:
    bbr = scene()
    named = bbr.directions.with_columns(cc=pl.lit("bbr"))
    (found,) = check(replace(bbr, directions=named))
    assert found.severity is Severity.NOTICE
    assert found.message.endswith("bbr keeps to the rate that it measured, by design.")


def test_fires_with_the_number_of_episodes() -> None:
    """Nine of ten: a share of 0.8 suffices."""
    (found,) = check(scene(fraction_hi=[0.5] + [0.04] * 9))
    assert "in 9 of 10 episodes" in found.message


def test_silent_on_a_cut_in_each_episode_or_few_episodes() -> None:
    assert check(scene(fraction=0.5, fraction_hi=0.55)) == []
    assert check(scene(round=list(range(10)))) == []
    assert check(scene(cwnd_before=4.0)) == []


def test_silent_where_reordering_may_explain_the_retransmissions() -> None:
    """Late packets, losses without a queue, and packets that all arrived."""
    lossy = bottleneck("fifo", losses=20, idle_loss=False)
    for tables in (
        {"noise": path_noise(late_share=0.02)},
        {"bottlenecks": bottleneck("l4s", losses=20, idle_loss=True)},
        {"bottlenecks": lossy, "paths": frame("paths", near=0, far=1, lost=2)},
    ):
        (result,) = check(scene(tables))
        assert isinstance(result, Skipped)
    really = {"bottlenecks": lossy, "paths": frame("paths", near=0, far=1, lost=18)}
    (found,) = check(scene(really))
    assert found.severity is Severity.WARNING


def test_silent_where_the_snaplen_cut_off_what_shows_late_packets() -> None:
    """Lab run s801-019: 16 % of the packets arrived late, no SACK of them was captured."""
    acks = frame("directions", flow=0, forward=[True, False], options_cut=[7_000, 4_000])
    cuts = scene({"bottlenecks": bottleneck("classic", losses=20, idle_loss=False)})
    assert isinstance(check(replace(cuts, directions=acks))[0], Skipped)
    whole = acks.with_columns(options_cut=0)
    assert not isinstance(check(replace(cuts, directions=whole))[0], Skipped)


def logs(depth: float, **tables: pl.DataFrame) -> Evidence:
    """UDP Prague's log with four losses, each in the sample that ``sender_logs.saw`` lowers."""
    windows = [20.0 * (1 - depth * (n % 10 in (8, 9))) for n in range(48)]
    lost = [(n + 2) // 10 for n in range(48)]
    return replace(sender_logs.whole(windows, lost_packets=lost), **tables)


def test_fires_on_the_log_of_a_sender_over_udp_and_is_silent_on_its_twin() -> None:
    (found,) = check(logs(0.0))
    assert isinstance(found, Finding)
    assert "in 4 of 4 episodes of loss" in found.message
    assert check(logs(0.5)) == []


def test_what_the_log_counts_as_lost_is_not_needless_but_where_packets_are_late() -> None:
    idle = bottleneck("l4s", losses=20, idle_loss=True)
    assert isinstance(check(logs(0.0, bottlenecks=idle))[0], Finding)
    assert isinstance(check(logs(0.0, noise=path_noise(late_share=0.02)))[0], Skipped)


def test_the_log_counts_where_both_show_the_losses() -> None:
    cuts = packet_cuts(10, cause="loss", fraction=0.0, fraction_lo=0.0, fraction_hi=0.04)
    assert check(logs(0.5, cuts=cuts)) == []


def test_media_is_not_judged() -> None:
    rtp = FLOWS.with_columns(transport=pl.lit("rtp"))
    (why,) = check(evidence(flows=rtp, directions=DIRECTIONS))
    assert isinstance(why, Skipped)
    assert why.reason.endswith("over UDP (RTP): the rate of its media may set what is in flight")
