"""The glossary: sorted, and each meaning a sentence that stands alone."""

import pytest

from l4strace.wording.glossary import GLOSSARY


def test_terms_are_in_the_order_of_the_alphabet():
    assert list(GLOSSARY) == sorted(GLOSSARY, key=str.casefold)


@pytest.mark.parametrize("term", GLOSSARY)
def test_a_meaning_is_short_and_ends(term: str):
    meaning = GLOSSARY[term]
    assert meaning.endswith(".")
    assert len(meaning) <= 200
    assert "\n" not in meaning


@pytest.mark.parametrize("term", ["ACE", "alpha", "score", "round", "vantage"])
def test_words_that_findings_use_are_explained(term: str):
    assert term in GLOSSARY
