"""What one process costs, and what it is held against."""

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

# Installed packages come with their bytecode; a shell that forbids writing it must not count here.
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
# What stands on the page of flows, asked of Wireshark's dissector.
FIELDS = (
    *("frame.time_epoch", "ip.src", "ip.dst", "ipv6.src", "ipv6.dst", "tcp.srcport", "tcp.dstport"),
    *("tcp.seq_raw", "tcp.ack_raw", "tcp.flags", "tcp.flags.ae", "tcp.len"),
    *("ip.dsfield.ecn", "ipv6.tclass.ecn", "tcp.options.timestamp.tsval"),
    *("tcp.options.timestamp.tsecr", "tcp.options.acc_ecn.ee0b", "tcp.options.acc_ecn.eceb"),
    "tcp.options.acc_ecn.ee1b",
)

# Runs one native function on one file and prints the cpu seconds that the call alone took.
CALL = """
import resource, sys
import polars
from l4strace.core import _native
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
def follow(path):
    follower, known = _native.Follower(path), None
    while (read := polars.DataFrame(follower.poll()["sources"])["records"].sum()) != known:
        known = read
call = follow if sys.argv[1] == "follow" else getattr(_native, sys.argv[1])
before = cpu()
call([sys.argv[2]] if sys.argv[1] == "track" else sys.argv[2])
print(cpu() - before)
"""


@dataclass(frozen=True)
class Cost:
    """Of one process with its children: processor, clock, largest memory."""

    cpu_s: float
    wall_s: float
    rss_mb: float


def run(command: Sequence[str]) -> Cost:
    """Runs a command to its end. Raises where it fails; 1 is a finding, or what a peer warns of."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    begun = time.perf_counter()
    process = subprocess.Popen(command, env=ENVIRONMENT, **quiet)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}")
    wall = time.perf_counter() - begun
    return Cost(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)


def call(function: str, path: Path) -> float:
    """Cpu seconds of one native function; ``follow`` reads as `watch` does."""
    command = [sys.executable, "-c", CALL, function, str(path)]
    ran = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return float(ran.stdout)


def l4strace(*words: str) -> Cost:
    """The command with these arguments."""
    return run([sys.executable, "-m", "l4strace", *words])


def diagnose(*paths: Path) -> Cost:
    """The whole command, page included."""
    page = paths[0].with_suffix(".html")
    return l4strace("diagnose", *map(str, paths), "--fail-on", "never", "-o", str(page), "--force")


def median(costs: Sequence[Cost]) -> Cost:
    """Each figure by itself."""
    return Cost(
        *(statistics.median(getattr(c, n) for c in costs) for n in ("cpu_s", "wall_s", "rss_mb"))
    )


def in_turns(rounds: int, *measures: Callable[[], float]) -> list[float]:
    """Medians of several measurements, taken in turns: they share what the neighbors do."""
    taken = [[measure() for measure in measures] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*taken, strict=True)]


def peers(path: Path) -> dict[str, list[str]]:
    """Commands of other tools that are installed here, by the name of the figure."""
    wanted = [part for field in FIELDS for part in ("-e", field)]
    commands = {
        "tcptrace": ["tcptrace", "-n", "-l", "-r", "-W", str(path)],
        "tshark -T fields": ["tshark", "-n", "-r", str(path), "-T", "fields", *wanted],
        "tshark -z conv,tcp": ["tshark", "-n", "-q", "-r", str(path), "-z", "conv,tcp"],
    }
    return {name: command for name, command in commands.items() if shutil.which(command[0])}
