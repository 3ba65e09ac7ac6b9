"""A run of the corpus as its truth file describes it, and the judge's answer to one finding."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

from tests.support.places import FIXTURES

PRAGUE, CUBIC = 5201, 5302


@pytest.fixture(scope="module", autouse=True)
def lab_path() -> Iterator[None]:
    sys.path.insert(0, str(FIXTURES / "lab"))
    yield
    sys.path.remove(str(FIXTURES / "lab"))


def load(name: str) -> ModuleType:
    return importlib.import_module(name)


def flow(dport: int, cc: str, kbyte_s: int) -> dict[str, Any]:
    return {
        "dport": dport,
        "prague": cc == "prague",
        "kind": "bulk",
        "asked": cc,
        "first_s": 0.0,
        "last_s": 10.0,
        "arrived_bytes": [kbyte_s * 1000] * 10,
        "sender": {"delivered_ce": 100},
        "codepoints": {"to_receiver": {"ect1>ce" if cc == "prague" else "ect0>ect0": 100}},
    }


def facts(nature: str = "dualpi2", marks: str = "ect1", **changes: Any) -> Any:
    """Prague with 1 of 6 MB/s beside CUBIC; its score stands above 8 all the time."""
    scenario = {
        "name": "x",
        "queue": {"name": nature, "nature": nature, "marks": marks},
        "second": None,
        "rtt_ms": 20.0,
        "server_ecn": 3,
        "client_ecn": 1,
        "noise": "none",
        "fallback": 1,
        "fault": "none",
        "build": "20-bit",
        "flows": [
            {"dport": dport, "cc": cc, "kind": "bulk", "numbers": []}
            for dport, cc in ((PRAGUE, "prague"), (CUBIC, "cubic"))
        ],
        "late_s": 0,
        "offloads": False,
    }
    socket = {
        "dport": PRAGUE,
        "steps": 400,
        "share_above": 0.9,
        "cuts": 50,
        "fallback_cuts": 45,
        "right_references": {"share_above": 0.0},
    }
    truth = {
        "start_unix_ns": 0,
        "processor": {"kept_up": True},
        "capacity": [{"s": 0.0, "hop": "first", "kbit": 50_000}],
        "flows": [flow(PRAGUE, "prague", 700), flow(CUBIC, "cubic", 5300)],
        "one_way_ms": {str(PRAGUE): [1.0] * 100, str(CUBIC): [2.0] * 20 + [80.0] * 2 + [2.0] * 78},
        "codepoints": {"to_receiver": {"ect1>ect1": 100}},
        "seconds": [{"second": n, "passed_bytes": 6_000_000} for n in range(10)],
    }
    socket |= changes.pop("socket", {})
    scenario |= changes
    return load("facts").Facts({**truth, "scenario": scenario, "sockets": [socket]})


def found(rule: str, message: str = "", severity: str = "error", **more: Any) -> dict[str, Any]:
    plain = {"rule": rule, "message": message, "severity": severity}
    return plain | {"span_ns": None, "variant": None} | more


def judged(rule: str, truth: Any, dport: int = PRAGUE, **values: Any) -> bool | None:
    answer: bool | None = load("judge").TRUE[rule](truth, dport, found(rule, **values))
    return answer


def alone(nature: str, share: float) -> Any:
    """Only Prague, and how long correct references keep its score above 8."""
    truth = facts(nature, "all", socket={"right_references": {"share_above": share}})
    del truth.flows[CUBIC]
    return truth
