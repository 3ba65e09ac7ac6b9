"""README and docs as tests read them, and files under the names that they use."""

from __future__ import annotations

import gzip
import random
import re
import shutil
from pathlib import Path

from tests.support.places import FIXTURES, REPOSITORY

PAGES = ("README.md", *sorted(f"docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md")))
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NAMED = re.compile(r"`(\w+\.csv)`:\n\n```text\n(.*?)^```", re.DOTALL | re.MULTILINE)
"""A file that a page shows under its name."""
CALL = re.compile(r"(?:\$ )?(?:sudo )?l4strace (.*)")


def text(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[tuple[str, str]]:
    """Language and text of each fenced block."""
    return FENCE.findall(text(page))


def calls(block: str) -> list[str]:
    """What follows `l4strace` in lines that start with it, up to a pipe or a comment."""
    lines = re.sub(r"\\\n\s*", "", block).splitlines()
    found = [match[1] for line in lines if (match := CALL.match(line))]
    return [re.split(r" [|>] |\s+#", words)[0].strip() for words in found]


def stand_ins(page: str, folder: Path) -> None:
    """Recorded runs in ``folder`` under every name that ``page`` gives to a reader's own."""
    for name, content in NAMED.findall(text(page)):
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "fixtures").symlink_to(FIXTURES)
    clean = FIXTURES / "accecn-clean"
    for stem in ("run", "run-client"):
        shutil.copy(clean / "sender.pcap.xz", folder / f"{stem}.pcapng")
        log = folder / f"{stem}.kernel.ndjson.zst"
        shutil.copy(clean / "sender.kernel.ndjson.zst", log)
    shutil.copy(clean / "receiver.pcap.xz", folder / "run-server.pcapng")
    runs = {
        "runs": [f"{cca}-vs-cubic-dualpi2-40mbit-10ms" for cca in ("prague", "cubic")],
        "grid": ["prague-vs-cubic-fq_codel-2bdp-rep3"],
        "spikes": ["rtt10ms-ce1000us-1", "rtt20ms-ce1000us-1"],
        "good": ["good-1", "good-2", "good-3"],
        "step": ["step-1"],
    }
    for name, stems in runs.items():
        (folder / name).mkdir()
        for stem in stems:
            shutil.copy(clean / "sender.pcap.xz", folder / name / f"{stem}.pcap")
    for name in ("a", "b"):
        (folder / name).mkdir()
        for end in ("sender", "receiver"):
            shutil.copy(clean / f"{end}.pcap.xz", folder / name / f"{end}.pcap.zst")
    study(folder / "extend.csv.gz")


def study(path: Path) -> None:
    """Results with the columns of the published fallback study, in which one kernel is better."""
    chance = random.Random(1)
    lines = ["bdp,omit,kernel,classic_cca,aqm,rtt,rate,i,prague throughput,classic throughput"]
    for kernel, share in (("unpatched-prague-91", 0.1), ("patched-lhagen", 0.5)):
        for cell in ("cubic,CoDel,4,8", "cubic,DualPI2,4,8", "bbr2,DualPI2,4,8"):
            for repetition in range(5):
                prague = 8e6 * share * chance.uniform(0.95, 1.05)
                lines.append(f"8,10,{kernel},{cell},{repetition},{prague},{8e6 - prague}")
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
