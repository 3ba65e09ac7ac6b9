"""`l4strace redact`, and `--anonymize`, which reads such copies."""

import json
from pathlib import Path
from typing import Any

from l4strace.errors import InputError, UsageError

ADDRESS = "10.77."


def test_copies_are_named_and_found_again(call: Any, sample: Path) -> None:
    result = call("redact", sample, "-o", "shared", "--key", "of ours")
    assert (result.exit_code, result.stdout) == (0, "shared/run.pcap.xz\n")
    assert "random" not in result.stderr
    shown = call("flows", "shared/run.pcap.xz").stdout
    assert ADDRESS in call("flows", sample).stdout
    assert ADDRESS not in shown
    assert "5201" in shown


def test_a_page_and_json_match_the_copy_under_the_same_key(call: Any, sample: Path) -> None:
    call("redact", sample, "-o", "shared", "--key", "of ours")
    words = ["--json", "--fail-on", "never"]
    copy = json.loads(call("diagnose", "shared/run.pcap.xz", *words).stdout)
    page = ["-o", "page.html"]
    hidden = call("diagnose", sample, *words, *page, "--anonymize", "--key", "of ours")
    value = json.loads(hidden.stdout)
    assert [source["path"] for source in value["sources"]] == ["run.pcap.xz"]
    for part in ("flows", "findings", "skipped", "verdict"):
        assert value[part] == copy[part]
    assert value["sources"][0]["sha256"] == copy["sources"][0]["sha256"]
    text = Path("page.html").read_text()
    assert ADDRESS not in text
    assert str(sample.parent) not in text
    assert "--key" not in text


def test_what_ran_over_udp_is_said_to_be_hidden_by_the_copy(call: Any, fixtures: Path) -> None:
    """QUIC became `plain UDP, which may be a tunnel`, and nothing said why."""
    udp, tcp = fixtures / "user-space/pq1-a.pcap.xz", fixtures / "misfire/misfire.pcap.xz"
    for path, hides in ((udp, True), (tcp, False)):
        shown = call("diagnose", str(path), "--anonymize", "--no-html").stdout
        assert (
            "note: redacted: without payload QUIC, RTP and UDP Prague show as" in shown
        ) is hides


def test_every_command_reads_anonymized(call: Any, sample: Path) -> None:
    for words in (["flows"], ["export", "flows"], ["export", "packets"], ["export", "sources"]):
        plain, hidden = (call(*words, sample, *more) for more in ([], ["--anonymize"]))
        assert hidden.exit_code == 0
        assert ADDRESS not in hidden.stdout
        assert "/l4strace-" not in hidden.stdout
        # A longer address may take a line of its own.
        assert len(hidden.stdout.splitlines()) >= len(plain.stdout.splitlines()) > 1


def test_what_is_left_out_is_named(call: Any, sample: Path) -> None:
    Path("run.ss.txt").write_text("minutes of a meeting\n")
    beside = call("redact", sample, "-o", "one")
    assert beside.exit_code == 0
    assert "run.ss.txt: left out: neither" in beside.stderr
    assert "random" in beside.stderr
    named = call("redact", sample, "run.ss.txt", "-o", "two")
    assert isinstance(named.exception, InputError)
    assert sorted(path.name for path in Path("two").iterdir()) == ["run.pcap.xz"]
    refused = call("diagnose", "run.ss.txt", "--anonymize", "--no-html")
    assert "cannot be anonymized" in str(refused.exception)


def test_a_key_alone_is_a_mistake(call: Any, sample: Path) -> None:
    assert isinstance(call("flows", sample, "--key", "x").exception, UsageError)
    assert isinstance(call("redact", sample).exception, SystemExit)
