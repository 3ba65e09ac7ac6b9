"""`doctor`: a line for each topic, a remedy where something is missing, exit code 0."""

import json

import pytest

from l4strace.capture import examination
from l4strace.capture.examination import Examination
from l4strace.errors import CollectorError, UsageError

FOUND = [
    {"topic": "clock", "state": "ok", "says": "tsc", "remedy": ""},
    {"topic": "fq", "state": "no", "says": "not in this kernel", "remedy": "CONFIG_NET_SCH_FQ"},
]


def test_this_host_is_examined(call):
    result = call("doctor", "--json", "-i", "lo")
    assert result.exit_code == 0
    found = json.loads(result.stdout)["doctor"]
    assert {"kernel", "AccECN", "Prague", "clock", "lo"} <= {row["topic"] for row in found}
    assert {row["state"] for row in found} <= set(examination.MARKS)
    assert all(row["remedy"] for row in found if row["state"] == "no")


def test_a_remedy_stands_below_its_topic(call, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(examination, "run", lambda *_: Examination(FOUND, "L4S cannot run here."))
    assert call("doctor").stdout.splitlines() == [
        "+ ok      clock       tsc",
        "- no      fq          not in this kernel",
        f"{'':<20} -> CONFIG_NET_SCH_FQ",
        "",
        "L4S cannot run here.",
    ]


PATH = [
    {"topic": "AccECN", "state": "ok", "says": "accepted", "remedy": ""},
    {"topic": "ECT(1) out", "state": "no", "says": "the path changes it", "remedy": "find the hop"},
]


@pytest.mark.parametrize(("lines", "code"), [(PATH[:1], 0), (PATH, 1)])
def test_a_path_that_fails_ends_with_1(call, monkeypatch: pytest.MonkeyPatch, lines, code):
    asked = []
    monkeypatch.setattr(
        examination, "run", lambda *words: asked.append(words) or Examination(lines, "In short.")
    )
    result = call("doctor", "--host", "server.example:5201")
    assert (result.exit_code, asked) == (code, [((), ("server.example", 5201))])
    assert "+ ok      AccECN      accepted" in result.stdout


@pytest.mark.parametrize("words", [("a:b",), ("-x",), ("a:0",), ("a", "-i", "lo")])
def test_what_names_no_server_is_a_matter_of_usage(call, words):
    assert isinstance(call("doctor", "--host", *words).exception, UsageError)


def test_a_server_that_is_not_there_is_a_line(call):
    result = call("doctor", "--json", "--host", "127.0.0.1:1")
    found = json.loads(result.stdout)
    (row,) = found["doctor"]
    assert (result.exit_code, row["topic"], row["state"]) == (1, "server", "no")
    assert row["says"] == "127.0.0.1 port 1: Connection refused"
    assert found["sentence"] == "No connection to this server: nothing is known of the path."


def test_a_collector_that_fails_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(examination.installed, "path", lambda name: "/nowhere/" + name)
    with pytest.raises(CollectorError, match=r"doctor failed: .*No such file"):
        examination.run(())


LONG = "net.ipv4.tcp_ecn is 2, so this host accepts ECN but never asks for AccECN by itself"
WIDE = [{"topic": "AccECN", "state": "no", "says": LONG, "remedy": f"{LONG}; set it to 3"}]


@pytest.mark.parametrize("width", [60, 100])
def test_lines_keep_the_width_and_every_word(width: int):
    shown = examination.render(Examination(WIDE, LONG), color=False, width=width)
    assert max(map(len, shown.splitlines())) <= width
    assert " ".join(shown.split()) == f"- no AccECN {LONG} -> {LONG}; set it to 3 {LONG}"
