"""Coverage-guided fuzzing of the importers that are Python: logs, host files, results of iperf3.

    python -m tests.support.hostile.guided CORPUS -max_total_time=300        (needs atheris)

An input is one file. An importer refuses with InputError; whatever else it raises is a finding.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["l4strace"]):
    from l4strace.errors import InputError
    from l4strace.ingest import host_file
    from l4strace.ingest.logs import open_log
    from l4strace.redact.mask import Mask
    from l4strace.redact.output import Folder
    from l4strace.redact.run import redact
    from l4strace.studies.measuring.results import Made

from tests.support.hostile import logs

SEEDS_PER_KIND = 20
RESULTS = '{"start":{"connected":[]},"intervals":[],"end":{"streams":[{"sender":{"socket":5}}]}}'
MASK = Mask(bytes(32))


def readers(folder: Path) -> dict[str, Callable[[str], object]]:
    """What reads a file, by the name that the file has then."""

    def copied(path: str) -> None:
        with closing(Folder(str(folder / "copies"))) as copies:
            redact([path], copies, MASK)

    return {
        "run.log": open_log.read,
        "run.host.json": host_file.read,
        "run.iperf3.json": lambda path: Made(iperf3=[path]).flows("run"),
        "run.flent": lambda path: Made(flent=[path]).flows("run"),
        "run.bpftrace.json": copied,
    }


def seeds(corpus: Path) -> None:
    """Writes a file of each kind and seed, as a corpus to begin with."""
    corpus.mkdir(parents=True, exist_ok=True)
    (corpus / "iperf3").write_text(RESULTS)
    for kind in logs.KINDS:
        for number in range(SEEDS_PER_KIND):
            (corpus / f"{kind}-{number}").write_bytes(logs.one(kind, f"seed {number}"))


def main() -> None:
    """Fuzzes until libFuzzer's own options end it."""
    seeds(Path(sys.argv[1]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        kinds = readers(folder)

        def one_input(data: bytes) -> None:
            for file, read in kinds.items():
                path = folder / file
                path.write_bytes(data)
                try:
                    read(str(path))
                except InputError:
                    pass
                finally:
                    path.unlink()
                    shutil.rmtree(folder / "copies", ignore_errors=True)

        atheris.Setup(sys.argv, one_input)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
