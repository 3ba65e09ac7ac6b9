"""`doctor`: its lines fit the terminal."""

import pytest

from l4strace.capture import examination

LONG = "net.ipv4.tcp_ecn is 2, so this host accepts ECN but never asks for AccECN by itself"
FOUND = [{"topic": "AccECN", "state": "no", "says": LONG, "remedy": f"{LONG}; set it to 3"}]


@pytest.mark.parametrize("width", [60, 100])
def test_lines_keep_the_width_and_every_word(width: int):
    shown = examination.render(FOUND, color=False, width=width)
    assert max(map(len, shown.splitlines())) <= width
    assert " ".join(shown.split()) == f"- no AccECN {LONG} -> {LONG}; set it to 3"
