"""What is measured: each shape beside `cat` and a walk, and the real one beside other tools."""

import shutil
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.support import chromium, needs
from tests.support.bench import costs, workloads
from tests.support.bench.costs import call, diagnose, in_turns, l4strace, median
from tests.support.bench.figures import Figure
from tests.support.bench.workloads import Workload
from tests.support.places import REPOSITORY

NATIVE = REPOSITORY / "l4strace" / "native"
ROUNDS = 5
MILLION = 1_000_000
FULL = 10 * MILLION
"""Packets from which the goals count: below, the constant hides what a packet costs."""
SMALL = 1000
"""Packets of the capture whose cost is taken for the constant."""


def of_shape(shape: Workload, constant_s: float) -> Iterator[Figure]:
    """What one shape costs against a walk over its record headers and against `cat`."""
    name, per = shape.name, 1e9 / shape.packets
    captures = [path for path in shape.paths if ".pcap" in path.name]
    ran = [
        (
            diagnose(*shape.paths),
            sum(call("walk", path) for path in captures),
            costs.run(["cat", *map(str, shape.paths)]).cpu_s,
        )
        for _ in range(ROUNDS)
    ]
    cost = median([diagnosed for diagnosed, *_ in ran])
    walk, cat = (statistics.median(taken) for taken in list(zip(*ran, strict=True))[1:])
    yield Figure(f"{name}: cpu", cost.cpu_s, unit="s", kept=False)
    yield Figure(f"{name}: time", cost.wall_s, unit="s", kept=False)
    yield Figure(f"{name}: memory", cost.rss_mb, unit="MB")
    beyond = max(cost.cpu_s - constant_s, 0.0)
    yield Figure(f"{name}: a packet", beyond * per, unit="ns", kept=False)
    goal = 5.0 if name == "real" else None
    yield Figure(f"{name}: cpu beyond the constant / walk", beyond / max(walk, 1e-9), goal)
    yield Figure(f"{name}: cpu / cat", cost.cpu_s / max(cat, 1e-9))


def of_peers(real: Workload, tool: str) -> Iterator[Figure]:
    """Another tool on the real shape, if it is installed here."""
    for name, command in costs.peers(real.paths[0]).items():
        if not name.startswith(tool):
            continue
        rounds = 1 if "tshark" in name else ROUNDS
        pairs = [(diagnose(*real.paths), costs.run(command)) for _ in range(rounds)]
        own, peer = map(median, zip(*pairs, strict=True))
        if "tshark" in name:
            goal = 60.0 if "fields" in name else None
            yield Figure(f"{name} / diagnose", peer.cpu_s / own.cpu_s, goal, at_least=True)
        else:
            yield Figure(f"diagnose / {name}, cpu", own.cpu_s / peer.cpu_s, 0.5)
            yield Figure(f"diagnose / {name}, time", own.wall_s / peer.wall_s, 0.3)


def of_watch(real: Workload) -> Iterator[Figure]:
    """What `watch` does with packets, as fast as they come."""
    walk, follow = in_turns(
        ROUNDS, lambda: call("walk", real.paths[0]), lambda: call("follow", real.paths[0])
    )
    yield Figure("watch: follow / walk", follow / max(walk, 1e-9))
    rate = real.packets / MILLION / max(follow, 1e-9)
    yield Figure("watch: M packets a second", rate, unit="M/s", at_least=True, kept=False)


def of_sweep(folder: Path, constant_s: float, runs: int = workloads.RUNS) -> Iterator[Figure]:
    """Many small runs in one command."""
    found = workloads.sweep(folder, runs)
    cost = l4strace("sweep", str(found), "-o", str(folder / "sweep"))
    yield Figure(f"sweep of {runs} runs: time", cost.wall_s, unit="s", kept=False)
    yield Figure(f"sweep of {runs} runs: cpu of a run / diagnose", cost.cpu_s / runs / constant_s)


def generated(folder: Path, packets: int) -> dict[str, Path]:
    """Captures with equally many packets and 64 or 20,000 flows, as pcap and as pcapng."""
    build = ["cargo", "build", "--quiet", "--release", "--no-default-features"]
    subprocess.run([*build, "--example", "generate"], cwd=NATIVE, check=True)
    tool = NATIVE / "target" / "release" / "examples" / "generate"
    few, many = "64", str(max(packets // 50, 64))
    kinds = {"few.pcap": [few, "20"], "many.pcap": [many, "20"], "ng.pcapng": [few, "20", "pcapng"]}
    for name, shape in kinds.items():
        subprocess.run([str(tool), str(folder / name), str(packets), *shape], check=True)
    return {name.partition(".")[0]: folder / name for name in kinds}


def of_flows(paths: dict[str, Path]) -> Iterator[Figure]:
    """What flows cost at equal packets, and what the format of the file does."""
    few, many, ng = in_turns(
        ROUNDS, *(lambda p=paths[name]: diagnose(p).cpu_s for name in ("few", "many", "ng"))
    )
    yield Figure("diagnose, 20,000 flows / 64 flows", many / few, 1.3)
    yield Figure("diagnose, pcapng / classic pcap", ng / few, 1.15)
    size = paths["few"].with_suffix(".html").stat().st_size / 1e6
    yield Figure("page of 64 flows", size, 3.0, "MB")


def constant(folder: Path) -> tuple[float, list[Figure]]:
    """What a capture of 1,000 packets costs, and the help."""
    path = folder / "small.pcap"
    path.write_bytes(workloads.cut(workloads.captured("misfire/misfire.pcap.xz"), SMALL))
    diagnose(path)
    cpu_s, help_s = in_turns(ROUNDS, lambda: diagnose(path).cpu_s, lambda: l4strace("--help").cpu_s)
    small = Figure("1,000 packets with page: cpu", cpu_s, 0.45, "s", kept=False)
    return cpu_s, [small, Figure("--help: cpu", help_s, 0.2, "s", kept=False)]


def of_drawing(page: Path) -> Iterator[Figure]:
    """The page in a headless browser: until what is in view is drawn, and all."""
    if needs.program("chromium") is None:
        return
    with chromium.Chromium() as browser:
        browser.size(1280)
        in_view, complete = in_turns(
            2 * ROUNDS,
            lambda: browser.load(page) / 1000,
            lambda: int(browser.evaluate("document.documentElement.dataset.complete")) / 1000,
        )
    yield Figure("page, charts in view drawn after", in_view, 2.0, "s", kept=False)
    yield Figure("page, charts of the open flow drawn after", complete, 2.0, "s", kept=False)


def measured(folder: Path, packets: int) -> Iterator[Figure]:
    """All figures, as they come."""
    constant_s, found = constant(folder)
    yield from found
    for shape in workloads.made(folder, packets):
        yield from of_shape(shape, constant_s)
        if shape.name == "real":
            yield from of_watch(shape)
            yield from of_drawing(shape.paths[0].with_suffix(".html"))
            yield from of_peers(shape, "tcptrace")
        if shape.name == ("real" if packets <= MILLION else "plain, a tenth"):
            yield from of_peers(shape, "tshark")
    yield from of_sweep(folder, constant_s, workloads.RUNS if packets >= FULL else 4)
    if shutil.which("cargo"):
        yield from of_flows(generated(folder, min(packets, MILLION)))
