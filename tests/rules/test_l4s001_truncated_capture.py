"""Cut files and cut packets."""

from l4strace.model import Severity
from l4strace.rules.l4s001_truncated_capture import AS_ASKED, check
from tests.support.frames import evidence, frame


def test_fires_on_a_file_that_ends_inside_a_record():
    stats = frame("stats", name="truncated_file", severity="error")
    (found,) = check(evidence(sources=frame("sources"), stats=stats))
    assert found.severity is Severity.NOTICE
    assert (found.source, found.measures) == (0, ())
    assert found.action.startswith("Stop captures with SIGINT")
    (log,) = check(evidence(sources=frame("sources", kind="qlog"), stats=stats))
    assert log.action == "Let the program close its log and check that the disk has space."


def test_fires_on_damage_with_the_place():
    stats = frame("stats", name="damaged_file", severity="error", detail="bad block at byte 4096")
    (found,) = check(evidence(sources=frame("sources"), stats=stats))
    assert found.severity is Severity.WARNING
    assert "bad block at byte 4096" in found.message


def test_fires_on_options_that_the_snaplen_cut():
    (found,) = check(
        evidence(directions=frame("directions", options_cut=[3, 4], forward=[True, False]))
    )
    assert [m.value for m in found.measures] == [7]


def test_silent_on_a_whole_capture():
    rows = frame("directions", options_cut=0)
    assert check(evidence(sources=frame("sources"), directions=rows)) == []


def test_fires_on_a_recording_that_a_full_disk_ended():
    full = "567 packets did not reach the disk: is it full?"
    rows = {"topic": "capture", "subject": "packets", "name": "ended"}
    (found,) = check(evidence(hosts=frame("hosts", path="run.host.json", value=full, **rows)))
    assert "run.host.json describes ended before it was asked to (567 packets" in found.message
    for usual in AS_ASKED:
        assert check(evidence(hosts=frame("hosts", value=usual, **rows))) == []
