"""Which files make one run."""

import shutil
from pathlib import Path

from l4strace.ingest import files


def test_a_companion_whose_name_would_be_too_long_is_none(fixtures: Path, tmp_path: Path):
    """255 bytes are the most that a file system takes; the capture has 254."""
    capture = tmp_path / f"{'x' * 249}.pcap"
    shutil.copyfile(fixtures / "accecn-clean" / "sender.pcap.xz", capture)
    found = files.of_run([str(capture)])
    assert found.captures == [str(capture)]
    assert found.logs_beside == found.hosts_beside == []
