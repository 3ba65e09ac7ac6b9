"""What `doctor` finds, and the sentence that it ends with."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from host import checks, doctor

COLLECTORS = Path(__file__).resolve().parents[2] / "collectors"


def lines(**states: str) -> list[dict[str, str]]:
    topics = (
        "kernel AccECN Prague DCTCP privileges packets tracefs inet_diag kprobes BTF BCC headers"
    )
    says = {"AccECN": "net.ipv4.tcp_ecn = 3", "Prague": "tcp_prague is not loaded"}
    return [
        checks.line(topic, states.get(topic, "ok"), says.get(topic, "x"))
        for topic in topics.split()
    ]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ({}, "Capture here records packets and kernel state by bcc; L4S can run here."),
        ({"kprobes": "no"}, "Capture here records packets and kernel state by tracefs; L4S can"),
        ({"BTF": "no"}, "Capture here records packets and kernel state by tracefs"),
        ({"privileges": "limited", "packets": "no"}, "no packets and kernel state by diag"),
        ({"BCC": "no", "tracefs": "no", "inet_diag": "no"}, "records packets and no kernel state"),
        ({"Prague": "limited"}, "L4S cannot run here yet: tcp_prague is not loaded."),
        ({"AccECN": "no"}, "L4S cannot run here yet: AccECN is off (net.ipv4.tcp_ecn = 3)."),
    ],
)
def test_the_sentence_names_what_can_be_done(states: dict[str, str], expected: str) -> None:
    assert expected in doctor.sentence(lines(**states))


def test_an_interface_that_is_not_there_is_named_with_those_that_are() -> None:
    command = [sys.executable, "-I", str(COLLECTORS), "doctor", "-i", "nope0"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    (row,) = [row for row in found["doctor"] if row["topic"] == "nope0"]
    assert (row["state"], row["says"]) == ("no", "no such interface")
    assert "lo" in row["remedy"]
    assert "lambda" not in done.stdout
    assert found["sentence"].endswith(".")


def test_a_check_that_fails_keeps_its_name() -> None:
    def broken(name: str) -> dict[str, str]:
        raise OSError(f"no {name}")

    row = doctor.checked("fq", broken, "fq")
    assert (row["topic"], row["state"], row["says"]) == ("fq", "limited", "unknown: no fq")


@pytest.mark.parametrize(
    ("controls", "state", "says"),
    [
        (["cubic"], "no", "net.ipv4.tcp_ecn = 1: not negotiated"),
        (["cubic", "prague"], "limited", "net.ipv4.tcp_ecn = 1: only sockets of Prague, which"),
    ],
)
def test_prague_needs_accecn_whatever_the_setting_is(
    monkeypatch: pytest.MonkeyPatch, controls: list[str], state: str, says: str
) -> None:
    monkeypatch.setattr(checks, "read", {"/proc/sys/net/ipv4/tcp_ecn": "1"}.get)
    monkeypatch.setattr(checks, "available", lambda: controls)
    row = checks.check_accecn()
    assert row["state"] == state
    assert says in row["says"]
    shown = doctor.sentence([*lines()[:1], row, *lines()[2:]])
    assert ("AccECN is off" in shown) is (state == "no")


def test_prague_says_what_is_read_and_what_is_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "available", lambda: ["cubic", "prague"])
    monkeypatch.setattr(checks.btf, "load", lambda *_: object())
    monkeypatch.setattr(checks.offsets, "prague", lambda _: {"name": "P2"})
    said = checks.check_prague()["says"]
    assert "layout P2 (read from type information)" in said
    assert "width of alpha: not stated, derived from the updates" in said
    monkeypatch.setattr(checks.offsets, "prague", lambda _: None)
    monkeypatch.setattr(checks, "prague_parameters", lambda: {"prague_ecn_fallback": "0"})
    said = checks.check_prague()["says"]
    assert "layout P3 or P2 or P1 by its parameters (guessed; capture decides" in said


def test_a_kernel_without_type_information_reads_no_layout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "available", lambda: ["prague"])
    monkeypatch.setattr(checks, "prague_parameters", lambda: {"prague_ecn_fallback": "0"})
    monkeypatch.setattr(checks.btf, "load", lambda *_: None)
    assert "(guessed, and not read: that needs vmlinux BTF)" in checks.check_prague()["says"]
    row = checks.check_btf()
    assert (row["state"], row["says"]) == ("no", "no vmlinux BTF that can be read")


def test_prague_among_the_kernels_own_types_is_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Built in: there is no BTF of a module, and none is missing."""
    monkeypatch.setattr(checks, "available", lambda: ["prague"])
    monkeypatch.setattr(checks.btf, "load", lambda *_: object())
    monkeypatch.setattr(checks.offsets, "prague", lambda _: {"name": "P4"})
    assert checks.check_btf()["state"] == "ok"
    monkeypatch.setattr(checks.offsets, "prague", lambda _: None)
    row = checks.check_btf()
    assert (row["state"], row["says"]) == ("limited", "not for tcp_prague")
