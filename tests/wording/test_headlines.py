"""Headlines: short, and chosen from those that the tests know."""

from dataclasses import replace

import pytest

from l4strace.model import (
    Analysis,
    Confidence,
    Finding,
    Rule,
    Severity,
    Skipped,
    Status,
    Unmet,
    VerdictLines,
)
from l4strace.rules import RULES
from l4strace.wording.headlines import MAX_WORDS, below, headlined, within
from l4strace.wording.verdict import verdict

RULE = Rule("L4S999", "name", "Summary.", lambda _: [], "", ("The path is odd", "{flow} is odd"))
FOUND = Finding(Severity.NOTICE, Confidence.HIGH, "It is odd.", rule="L4S999")


def test_a_finding_takes_the_first_headline_of_its_rule_or_the_one_that_it_names():
    assert headlined(FOUND, RULE).headline == "The path is odd"
    own = replace(FOUND, headline="{flow} is odd")
    assert headlined(own, RULE).headline == "A flow is odd"
    assert headlined(replace(own, flow=12), RULE).headline == "Flow 12 is odd"


def test_a_headline_that_the_rule_does_not_list_is_not_shown():
    assert headlined(replace(FOUND, headline="no"), RULE).headline == "The path is odd"


def test_within_a_sentence_only_names_keep_their_capital():
    for text in ("Prague runs as Reno", "AccECN was refused", "ECT(1) is odd", "FIFO at it"):
        assert within(text) == text
    assert within("A flood") == "a flood"
    assert within("The path changes") == "the path changes"
    assert within("L4S AQM at it") == "L4S AQM at it"


LONGEST = max(
    (headline for rule in RULES for headline in rule.headlines), key=lambda text: len(text.split())
)


def verdicts():
    """Each way in which a verdict opens, with the longest headline that a rule has."""
    notice = replace(FOUND, headline=LONGEST)
    weak = replace(notice, severity=Severity.ERROR, confidence=Confidence.LOW)
    worst = replace(notice, severity=Severity.ERROR)
    log = Status("unknown", "Unknown.")
    starves = VerdictLines("", "", "", starves=True)
    unmet = (Unmet("l4s", "No.", ""), Unmet("accecn", "No.", ""), Unmet("ect1", "No.", ""))
    for found in ((), (notice,), (weak,), (weak, notice), (worst,)):
        for known in (len(RULES), len(RULES) + 1):
            for status in (None, log):
                for frame in (None, starves):
                    for flows in (0, 1_234):
                        yield verdict(
                            Analysis(
                                found, (Skipped("x", rule="L4S1"),), RULES, frame, status, known
                            ),
                            flows,
                        )
    yield verdict(Analysis((), unmet=unmet), 1)


def test_every_headline_is_at_most_twelve_words():
    seen = {one.headline for one in verdicts()}
    assert len(seen) > 8
    for headline in seen:
        assert 0 < len(headline.split()) <= MAX_WORDS, headline
        assert headline[0] == headline[0].upper()


@pytest.mark.parametrize(
    ("analysis", "flows", "expected"),
    [
        (Analysis((), (), RULES), 0, "No flow to judge"),
        (Analysis((), (), RULES), 2, "Nothing wrong found in 2 flows"),
        (Analysis((), (), RULES[:1], known_rules=9), 2, "1 of 9 rules: nothing found in 2 flows"),
        (
            Analysis((replace(FOUND, headline="The path is odd"),), (), RULES),
            2,
            "Nothing seriously wrong; the path is odd",
        ),
        (
            Analysis((replace(FOUND, headline="The path is odd"),), (), RULES[:1], known_rules=9),
            2,
            "The path is odd",
        ),
        (Analysis((), unmet=(Unmet("ect1", "No.", ""),)), 1, "Expected ect1: not so"),
    ],
)
def test_what_a_verdict_says_at_a_glance(analysis: Analysis, flows: int, expected: str):
    assert verdict(analysis, flows).headline == expected


def test_below_a_headline_its_words_stand_no_second_time():
    headline = "The path bleaches ECN"
    assert below(headline, "The path bleaches ECN: 3 of 4 arrived.") == "3 of 4 arrived."
    assert below(headline, "3 of 4 arrived: the path bleaches ECN.") == "3 of 4 arrived."
    assert below(headline, "The path bleaches ECN. 3 of 4 arrived.") == "3 of 4 arrived."
    assert below(headline, "3 of 4: lost.") == "3 of 4: lost."
