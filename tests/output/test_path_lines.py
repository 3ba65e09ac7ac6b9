"""The path between two captures, in terminal and JSON."""

import polars as pl

from l4strace.model import Analysis
from l4strace.output import json, path_lines
from tests.support.frames import CARRIED, PATHS, capture, frame


def test_terminal_and_json_have_delay_marks_and_losses():
    run = capture(flows=frame("flows", flow=[0, 1, 2]), directions=CARRIED, paths=PATHS)
    first, delays, head, *rows = path_lines.lines(run)
    # Lab run s1401-082: "queue delay" of 5.6 ms, which was jitter alone.
    assert "(queue and jitter)" in delays
    assert first.startswith("241,501 packets at both ends")
    assert head.split()[-2:] == ["median", "P99"]
    assert [" ".join(row.split()) for row in rows] == [
        "0 to server 200,000 0 4,300 0 147 us 467 us",
        "1 to server 41,494 0 39 0 13.4 ms 21.9 ms",
    ]
    assert json.document(run, Analysis(()))["paths"][0]["owd_p99_us"] == 467.0


def test_one_capture_has_no_path():
    assert list(path_lines.lines(capture(flows=frame("flows"), directions=CARRIED))) == []


def both_ends(arrived: int, **columns: int) -> str:
    run = capture(
        flows=frame("flows", source=[0, 1], vantage=["client", "server"]),
        directions=frame(
            "directions", source=[0, 1], ce=[0, arrived], ce_fed_back_lo=38, ce_fed_back_hi=40
        ),
        paths=PATHS.head(1).with_columns(
            pl.lit(columns.get(name, 0), pl.UInt64).alias(name)
            for name in ("ace_changed", "option_stripped", "option_changed")
        ),
    )
    return " ".join(" ".join(path_lines.lines(run)).split())


def test_what_both_ends_show_to_be_right_is_stated():
    kept = "AE, CWR and ECE arrived as sent in every packet, and so did every AccECN option."
    # Lab run b: "367 marked", and "all 352 CE packets": the others are of a classic flow.
    reported = "The feedback accounts for all 39 CE packets that arrived on AccECN flows."
    assert kept in both_ends(39)
    assert reported in both_ends(39)
    assert kept not in both_ends(39, option_stripped=1)
    assert kept not in both_ends(39, ace_changed=1)
    assert "accounts for" not in both_ends(41)
    assert "accounts for" not in both_ends(0)
