"""A link that releases packets in bursts."""

from l4strace.rules.l4s406_bursty_link import check
from tests.support.scenes import path_noise, two_flows


def scene(**columns: object):
    return two_flows(noise=path_noise(**columns))


def test_fires_with_the_period() -> None:
    (found,) = check(scene(common_us=6_000.0, release_us=7_600.0, added_by="forward"))
    assert found.flow == 1
    assert "A link on the path of the data releases packets in bursts" in found.message
    assert "about every 7.6 ms" in found.message


def test_where_one_ack_reports_each_burst_no_jitter_is_said() -> None:
    (found,) = check(scene(common_us=None, release_us=6_100.0))
    assert [measure.name for measure in found.measures] == ["release period"]


def test_silent_on_jitter() -> None:
    assert check(scene(common_us=6_000.0)) == []
