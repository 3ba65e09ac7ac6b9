"""What crosses the seam besides tables: failures, constants, names."""

from pathlib import Path

import polars as pl
import pytest

from l4strace import cli
from l4strace.core import _native
from l4strace.errors import InputError
from l4strace.prague import replay
from tests.support.signals import MOST_BYTES, interrupted


def test_a_panic_is_an_exception_of_one_line_with_its_place(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(
        _native.InternalError, match=r"^two lines at src/python/seam\.rs:\d+$"
    ) as error:
        _native._panic("two\nlines")
    assert isinstance(error.value, Exception)
    assert capfd.readouterr().err == ""


def test_the_command_line_ends_with_70_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cli, "app", lambda **_: _native._panic("index out of bounds"))
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == cli.INTERNAL
    said = capsys.readouterr().err.splitlines()
    assert "InternalError" in said[0]
    assert "index out of bounds" in said[0]
    assert not any("Traceback" in line for line in said)


def test_the_callers_own_exception_comes_back(tmp_path: Path) -> None:
    capture = tmp_path / "empty.pcap"
    capture.write_bytes(bytes.fromhex("d4c3b2a1020004000000000000000000ffff000001000000"))

    def stop(read: int, total: int) -> bool:
        raise KeyError(read)

    with pytest.raises(KeyError):
        _native.track([str(capture)], stop)
    with pytest.raises(InputError, match="no such file"):
        _native.track([str(tmp_path / "absent")])


def test_a_line_without_end_is_left_at_a_signal(tmp_path: Path) -> None:
    """It is read piece by piece, and no block came back before its end."""
    path = tmp_path / "endless"
    with interrupted(path):
        lines = _native.Lines(str(path), 1 << 24, 1 << 23)
        next(lines)
    assert 0 < lines.bytes_read < MOST_BYTES


def test_constants_are_those_of_the_sources() -> None:
    """tcp_prague.c: L4STeam/linux@02573a2, L4STeam/tcp-prague@90aea47, L4STeam/linux issue 38."""
    builds = {build["name"]: build for build in _native.prague_builds()}
    assert list(builds) == ["20-bit", "24-bit buggy", "24-bit fixed"]
    for build in builds.values():
        assert (build["l_sticky_score"], build["classic_ecn_score"], build["c_sticky_score"]) == (
            8,
            9,
            17,
        )
        assert (build["alpha_floor"], build["cut_floor"]) == (0.625, 0.3125)
        assert (build["frac_cwnd_unit"], build["shift_g"]) == (1 << 20, 4)
        assert build["published_bits"] == [20, 24, 31]
    assert builds["24-bit buggy"]["mdev_reference_us"] == pytest.approx(1.5125, abs=1e-4)
    assert builds["24-bit buggy"]["depth_reference_us"] == pytest.approx(1.6081, abs=1e-4)
    for name, v0_lg in (("20-bit", 5_007_341), ("24-bit fixed", 80_117_470)):
        assert builds[name]["v0_lg"] == v0_lg
        assert builds[name]["mdev_reference_us"] == pytest.approx(750, rel=1e-4)
        assert builds[name]["depth_reference_us"] == pytest.approx(2000, rel=1e-4)


def test_stats_have_names_and_severities() -> None:
    names = _native.stat_names()
    assert names["truncated_file"] == "error"
    assert names["clock_steps"] == "loss"
    assert set(names.values()) == {"info", "loss", "error"}


def test_the_largest_numbers_of_a_log_do_not_overflow() -> None:
    low, high = -(2**63), 2**63 - 1
    for before, after in ((high, low + 1), (low, high)):
        steps = pl.DataFrame({"before": [before], "after": [after]})
        assert len(_native.prague_identify(24, steps)) == 1
    columns = {"srtt_us": high, "mdev_us": high, "shift": 255, "min_rtt_us": 1}
    columns |= {"rest_mdev": 2**32 - 1, "rest_depth": 2**32 - 1}
    for score in (low, high):
        for srtt_us in (high, low):
            step = columns | {"before": score, "srtt_us": srtt_us}
            steps = pl.DataFrame([step], {name: replay.INPUTS[name] for name in step})
            rows = pl.DataFrame(_native.prague_replay(steps))
            for build in _native.prague_builds():
                # Without an RTT there is no step, and the score stays as it is.
                after = rows[build["name"]][0]
                assert 0 <= after <= build["c_sticky"] if srtt_us > 0 else after == score


def test_a_column_of_another_type_is_refused() -> None:
    whole = pl.DataFrame({"before": [1], "after": [2]})
    for odd in (whole.drop("after"), whole.cast({"after": pl.Float64})):
        with pytest.raises(ValueError, match="the column after is missing or not Int64"):
            _native.prague_identify(24, odd)


def test_columns_in_several_chunks_are_read_whole() -> None:
    chunk = pl.DataFrame({"before": [0, None], "after": [1, 2]})
    chunks = pl.concat([chunk, chunk, chunk.clear()], rechunk=False)
    assert len(_native.prague_identify(24, chunks)) == 4
    assert len(_native.prague_identify(24, chunks.clear())) == 0


def test_the_widest_alpha_does_not_overflow() -> None:
    assert _native.prague_alpha(31, [2**64 - 1], [0], [2**32 - 1]) == [1 << 35]
