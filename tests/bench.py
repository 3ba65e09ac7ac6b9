"""Cost of l4strace as ratios to a plain walk over the record headers (`make bench`).

Every figure is cpu time (user and system) of one process, the median of interleaved rounds, so that
ratios hold on any machine and beside busy neighbours. Captures are generated into a scratch folder.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.support.places import REPOSITORY

NATIVE = REPOSITORY / "l4strace" / "native"
ROUNDS = 5
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
from l4strace import _native
def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
before = cpu()
getattr(_native, sys.argv[1])([sys.argv[2]] if sys.argv[1] == "track" else sys.argv[2])
print(cpu() - before)
"""


@dataclass(frozen=True)
class Cost:
    """Of one process."""

    cpu_s: float
    rss_mb: float


@dataclass(frozen=True)
class Goal:
    """One line of the result; ``most`` is the bound, turned round where ``at_least``."""

    name: str
    value: float
    most: float
    unit: str = "x"
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.value >= self.most if self.at_least else self.value <= self.most

    def __str__(self) -> str:
        sign = ">=" if self.at_least else "<="
        verdict = "ok" if self.holds else "MISSED"
        return f"{self.name:<52}{self.value:>9.2f} {self.unit:<3}{sign} {self.most:<7g}{verdict}"


def run(command: list[str]) -> Cost:
    """Runs a command to its end and says what it cost."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env=ENVIRONMENT, **quiet)
    _, _, used = os.wait4(process.pid, 0)
    return Cost(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def call(function: str, path: Path) -> float:
    """Cpu seconds of one native function."""
    command = [sys.executable, "-c", CALL, function, str(path)]
    ran = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return float(ran.stdout)


def l4strace(*words: str) -> Cost:
    """The command with these arguments."""
    return run([sys.executable, "-m", "l4strace", *words])


def diagnose(path: Path) -> Cost:
    """The whole command, page included."""
    page = path.with_suffix(".html")
    return l4strace("diagnose", str(path), "--fail-on", "never", "-o", str(page), "--force")


def together(*measures: Callable[[], float]) -> list[float]:
    """Medians of several measurements, taken in turns."""
    rounds = [[measure() for measure in measures] for _ in range(ROUNDS)]
    return [statistics.median(column) for column in zip(*rounds, strict=True)]


def generate(folder: Path) -> dict[str, Path]:
    """Captures of the benchmark; longer ones have a larger window, so all have alike rounds."""
    build = ["cargo", "build", "--quiet", "--release", "--no-default-features"]
    subprocess.run([*build, "--example", "generate"], cwd=NATIVE, check=True)
    tool = NATIVE / "target" / "release" / "examples" / "generate"
    shapes = {
        "1m": ["1000000", "64", "20"],
        "10m": ["10000000", "64", "200"],
        "many": ["1000000", "20000", "20"],
        "ng": ["1000000", "64", "20", "pcapng"],
    }
    paths = {}
    for name, shape in shapes.items():
        paths[name] = folder / f"{name}.{'pcapng' if name == 'ng' else 'pcap'}"
        subprocess.run([str(tool), str(paths[name]), *shape], check=True)
    return paths


def native_goals(paths: dict[str, Path]) -> list[Goal]:
    """Decode and tracking alone."""
    big = paths["10m"]
    walk, decode, track = together(
        lambda: call("walk", big), lambda: call("decode", big), lambda: call("track", big)
    )
    few, many, ng = together(
        lambda: call("track", paths["1m"]),
        lambda: call("track", paths["many"]),
        lambda: call("track", paths["ng"]),
    )
    print(f"walk of 10 M packets: {walk:.3f} s cpu ({walk * 100:.1f} ns a packet)")
    return [
        Goal("streamed decode / walk", decode / walk, 2.5),
        Goal("tracking / walk", track / walk, 6),
        Goal("tracking, 20,000 flows / 64 flows", many / few, 5),
        Goal("tracking, pcapng / classic pcap", ng / few, 1.15),
    ]


def command_goals(paths: dict[str, Path]) -> list[Goal]:
    """The whole command with its page."""
    diagnose(paths["1m"])
    costs = {name: [] for name in paths}
    walks = []
    for _ in range(ROUNDS):
        walks.append(call("walk", paths["10m"]))
        for name, path in paths.items():
            costs[name].append(diagnose(path))
    cpu = {n: statistics.median(c.cpu_s for c in found) for n, found in costs.items()}
    rss = {n: statistics.median(c.rss_mb for c in found) for n, found in costs.items()}
    walk = statistics.median(walks)
    goals = [
        Goal("diagnose, 10 M packets: cpu beyond 6 walks", cpu["10m"] - 6 * walk, 1.5, "s"),
        Goal("diagnose, 20,000 flows / 64 flows", cpu["many"] / cpu["1m"], 1.5),
        Goal("diagnose, pcapng / classic pcap", cpu["ng"] / cpu["1m"], 1.15),
        Goal("peak memory, 10 M / 1 M packets", rss["10m"] / rss["1m"], 1.2),
        Goal("peak memory at 10 M packets", rss["10m"], 400, "MB"),
        Goal("--help", statistics.median(l4strace("--help").cpu_s for _ in range(5)), 0.2, "s"),
        Goal("page of 1 M packets", paths["1m"].with_suffix(".html").stat().st_size / 1e6, 3, "MB"),
    ]
    if tcptrace := shutil.which("tcptrace"):
        peer = run([tcptrace, "-n", "-l", "-r", "-W", str(paths["10m"])]).cpu_s
        goals.append(Goal("diagnose / tcptrace, 10 M packets", cpu["10m"] / peer, 0.5))
    if tshark := shutil.which("tshark"):
        wanted = [part for field in FIELDS for part in ("-e", field)]
        peer = run([tshark, "-n", "-r", str(paths["1m"]), "-T", "fields", *wanted]).cpu_s
        goals.append(Goal("tshark / diagnose, 1 M packets", peer / cpu["1m"], 50, at_least=True))
    return goals


def drawing_goals(page: Path) -> list[Goal]:
    """The page in a headless browser: seconds until what is in view is drawn, and all."""
    sys.path.insert(0, str(REPOSITORY))
    from tests.support import chromium

    if (binary := chromium.find()) is None:
        return []
    spent = []
    with chromium.Chromium(binary) as browser:
        browser.size(1280)
        for _ in range(2 * ROUNDS):
            in_view = browser.load(page)
            complete = browser.evaluate("document.documentElement.dataset.complete")
            spent.append((in_view / 1000, int(complete) / 1000))
    in_view_s, complete_s = map(statistics.median, zip(*spent, strict=True))
    return [
        Goal("page, charts in view drawn after", in_view_s, 2, "s"),
        Goal("page, charts of the open flow drawn after", complete_s, 2, "s"),
    ]


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="l4strace-bench-") as scratch:
        paths = generate(Path(scratch))
        goals = native_goals(paths) + command_goals(paths)
        goals += drawing_goals(paths["1m"].with_suffix(".html"))
    for goal in goals:
        print(goal)
    return 0 if all(goal.holds for goal in goals) else 1


if __name__ == "__main__":
    sys.exit(main())
