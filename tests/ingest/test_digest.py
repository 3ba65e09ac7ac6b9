"""Checksums in `sources`."""

import hashlib
import threading
from pathlib import Path

import polars as pl
import pytest

from l4strace import pipeline, resources
from l4strace.ingest import digest
from tests.support.places import FIXTURES


def test_a_file_has_the_digest_that_sha256sum_prints(tmp_path: Path):
    file = tmp_path / "run.pcap"
    file.write_bytes(b"packets" * 300_000)
    assert digest.sha256(str(file)) == hashlib.sha256(file.read_bytes()).hexdigest()


def test_streams_and_large_files_have_none(tmp_path: Path):
    large = tmp_path / "large.pcap"
    with large.open("wb") as stream:
        stream.truncate(digest.LIMIT_BYTES + 1)
    assert digest.sha256("-") is None
    assert digest.sha256(str(large)) is None


def test_every_source_gets_its_own(tmp_path: Path):
    (tmp_path / "a").write_bytes(b"a")
    sources = pl.DataFrame({"path": [str(tmp_path / "a"), "-"]})
    assert digest.with_digests(sources, {})["sha256"].to_list() == [
        hashlib.sha256(b"a").hexdigest(),
        None,
    ]


def test_what_is_known_is_not_read_again(tmp_path: Path):
    sources = pl.DataFrame({"path": [str(tmp_path / "gone"), "-"]})
    known = {str(tmp_path / "gone"): "0af1"}
    assert digest.with_digests(sources, known)["sha256"].to_list() == ["0af1", None]


@pytest.mark.parametrize("spare", [True, False])
def test_beside_other_work_where_a_thread_is_to_spare(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spare: bool
):
    monkeypatch.setattr(resources, "spare", lambda _: spare)
    (tmp_path / "a").write_bytes(b"a")
    known, gone = str(tmp_path / "a"), str(tmp_path / "gone")
    with digest.beside([known, "-", gone]) as found:
        pass
    expected = {known: hashlib.sha256(b"a").hexdigest(), "-": None, gone: None}
    assert found == (expected if spare else {})


def test_no_thread_is_left_where_the_work_beside_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    workers: list[threading.Thread] = []
    began = threading.Event()

    def sha256(path: str) -> str:
        workers.append(threading.current_thread())
        began.set()
        return ""

    monkeypatch.setattr(resources, "spare", lambda _: True)
    monkeypatch.setattr(digest, "sha256", sha256)

    def fail() -> None:
        with digest.beside(["a", "b"]):
            assert began.wait(60)
            raise ValueError("no capture")

    with pytest.raises(ValueError, match="no capture"):
        fail()
    assert not workers[0].daemon
    assert not workers[0].is_alive()


def test_nothing_is_read_twice_where_no_output_shows_a_digest(monkeypatch: pytest.MonkeyPatch):
    path = str(FIXTURES / "accecn-clean" / "sender.pcap.xz")
    monkeypatch.setattr(digest, "sha256", lambda _: pytest.fail("read twice"))
    asked = pipeline.Asked(judge=False, digests=False)
    (run,) = pipeline.diagnose([path], asked)
    assert run.evidence.sources["sha256"].null_count() == run.evidence.sources.height
