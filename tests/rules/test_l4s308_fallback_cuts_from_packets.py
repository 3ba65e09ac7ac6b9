"""The fallback as the cuts show it."""

import pytest

from l4strace.model import Severity, Skipped
from l4strace.rules.l4s308_fallback_cuts_from_packets import check
from tests.support.frames import evidence
from tests.support.scenes import DIRECTIONS, FLOWS, bottleneck, log, packet_cuts, starving

FLOOR = {"law": "floor", "fraction": 0.3}
SLOW = {"rate_bps": 4e6, "serialisation_us": 3028.0}


def scene(
    kind: str, law: dict[str, object], place: dict[str, object] | None = None, **tables: object
):
    plain = {
        "flows": FLOWS,
        "directions": DIRECTIONS,
        "bottlenecks": bottleneck(kind, **(place or {})),
        "cuts": packet_cuts(**law),
    }
    return evidence(**(plain | tables))


@pytest.mark.parametrize(
    ("kind", "law", "place", "severity", "words"),
    [
        ("l4s", FLOOR, {}, Severity.ERROR, "misfired"),
        ("l4s", FLOOR, SLOW, Severity.NOTICE, "acts on a slow L4S link"),
        ("l4s", {"law": ["floor"] * 8 + ["alpha/2"] * 32}, SLOW, Severity.NOTICE, "at times"),
        ("classic", FLOOR, {}, Severity.INFO, "behind a classic AQM, as intended"),
        ("per-flow", FLOOR, {}, Severity.INFO, "AQM with a queue per flow, as intended"),
        ("fifo", FLOOR, {}, Severity.INFO, "fallback acts:"),
        ("l4s", {}, {}, Severity.INFO, "does not act"),
        ("classic", {}, {}, Severity.WARNING, "does not fall back"),
        ("shallow", {}, {}, Severity.WARNING, "does not fall back"),
        ("classic", {}, {"confidence": 0.5}, Severity.INFO, "does not act"),
    ],
)
def test_fires_with_the_verdict_that_fits(kind, law, place, severity, words) -> None:
    (found,) = check(scene(kind, law, place))
    assert found.severity is severity
    assert words in found.message


def test_names_who_starves() -> None:
    (found,) = check(scene("classic", {}, coexistence=starving(1, 0)))
    assert "flow 1 (port 40002, ECT(0)) starves" in found.message


def test_silent_for_other_senders_mixed_laws_and_where_a_log_tells() -> None:
    mixed = {"law": ["floor"] * 10 + ["alpha/2"] * 30}
    assert check(scene("l4s", mixed)) == []
    assert check(scene("l4s", FLOOR | {"flow": 1})) == []
    assert check(scene("l4s", FLOOR, kernel=log())) == []


def test_skips_with_too_few_cuts() -> None:
    few = evidence(
        flows=FLOWS,
        directions=DIRECTIONS,
        bottlenecks=bottleneck("l4s"),
        cuts=packet_cuts(5, **FLOOR),
    )
    assert isinstance(check(few)[0], Skipped)
