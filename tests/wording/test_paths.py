"""What the path did between two captures."""

from l4strace.wording import paths
from tests.support.frames import CARRIED, PATHS, frame


def test_a_clean_path_is_stated():
    assert paths.sentence(PATHS.to_dicts()) == (
        "241,501 packets at both ends: 0 lost, 0 re-marked, 4,339 marked."
    )


def test_what_no_queue_may_do_counts_as_re_marked():
    odd = frame("paths", matched=10, lost=2, ce_to_ect1=1, not_ect_to_ce=2, ect1_to_ect0=3)
    assert (
        paths.sentence(odd.to_dicts()) == "10 packets at both ends: 2 lost, 6 re-marked, 0 marked."
    )


def test_losses_that_offloads_hide_are_not_zero():
    hidden = frame("paths", matched=[10, 10], lost=[0, None], ect1_to_ce=1)
    assert paths.sentence(hidden.to_dicts()) == (
        "10 packets at both ends: losses unknown, 0 re-marked, 2 marked."
    )


def test_control_connections_need_no_line_unless_something_happened():
    assert paths.with_data(PATHS, CARRIED)["flow"].to_list() == [0, 1]
    lossy = PATHS.with_columns(lost=PATHS["flow"].cast(PATHS["lost"].dtype))
    assert paths.with_data(lossy, CARRIED)["flow"].to_list() == [0, 1, 2]


def test_a_third_capture_between_the_ends_counts_no_packet_twice():
    hops = frame("paths", flow=0, near=[0, 1], far=[1, 2], matched=[1000, 990], lost=[10, 0])
    assert paths.sentence(hops.to_dicts()) == (
        "990 packets at both ends: 10 lost, 0 re-marked, 0 marked."
    )
