"""Wrapped text: within the width, and never through a path, a name or a filter."""

import pytest

from l4strace.rules import RULES
from l4strace.wording import wrap

PATH = "/srv/runs/2026-11-21/a-rather-long-name-of-a-run-with-hyphens.pcapng.zst"
TEXT = f"Nothing to read in {PATH}: it holds 3 records, all of them shorter than a header."


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_lines_keep_the_width_but_for_a_word_that_is_longer(width: int):
    lines = wrap.wrapped(TEXT, width, "    ", "  ").splitlines()
    assert all(len(line) <= width or line.strip() == f"{PATH}:" for line in lines)
    assert " ".join(line.strip() for line in lines) == TEXT
    assert lines[0].startswith("  N")
    assert all(line.startswith("    ") for line in lines[1:])


def test_what_is_whole_is_not_broken_at_its_spaces():
    name = "runs of a user/my first run.pcap"
    lines = wrap.wrapped(f"Cannot read {wrap.whole(name)} now.", 40).splitlines()
    assert any(name in line for line in lines)
    assert "\N{NO-BREAK SPACE}" not in "".join(lines)


def test_a_unit_stays_with_its_number():
    for width in range(40, 60):
        lines = wrap.wrapped("The queue delay was 0.4 ms, 37.3 Mbit/s got through in 8.0 s.", width)
        assert not [
            line for line in lines.splitlines() if line.split()[0] in ("ms,", "Mbit/s", "s.")
        ]


def test_control_characters_are_shown_and_not_obeyed():
    assert wrap.wrapped("a\x1b[2Jb") == "a\\x1b[2Jb"


@pytest.mark.parametrize("width", [60, 80, 100])
def test_the_manual_of_every_rule_fits_and_loses_no_word(width: int):
    for rule in RULES:
        shown = wrap.page(rule.doc, width)
        assert shown.split() == rule.doc.split()
        assert all(len(line) <= width or " " not in line.strip() for line in shown.splitlines())


def test_headings_and_items_keep_their_lines():
    text = "Evidence\n--------\n- one\n  goes on\n- two\n\nLast."
    assert wrap.page(text, 40) == "Evidence\n--------\n- one goes on\n- two\n\nLast."
