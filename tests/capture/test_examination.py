"""How `doctor` is shown."""

from __future__ import annotations

from l4strace.capture.examination import Examination, render

ROW = {"topic": "kernel", "state": "limited", "says": "word " * 30, "remedy": "do " * 40}


def test_lines_are_wrapped_below_their_column() -> None:
    text = render(Examination([ROW], "One sentence. " * 10), color=False)
    rows = text.splitlines()
    assert max(map(len, rows)) <= 80
    assert rows[0].startswith("~ limited kernel      word")
    assert rows[1].startswith(" " * 22 + "word")
    assert text.endswith("One sentence.")


def test_colour_does_not_count_as_width() -> None:
    plain = render(Examination([ROW], "x"), color=False)
    colored = render(Examination([ROW], "x"), color=True)
    assert colored.replace("\x1b[33m", "").replace("\x1b[0m", "") == plain


def test_a_name_cannot_drive_the_terminal() -> None:
    row = ROW | {"says": "\x1b[2Jgone", "remedy": ""}
    assert "\x1b" not in render(Examination([row], "\x1b[2J"), color=False)
