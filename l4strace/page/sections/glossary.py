"""The words of the page: what a term means, shown where it first stands in a section too."""

from __future__ import annotations

from typing import NamedTuple

from l4strace.page.case import Case
from l4strace.wording.glossary import GLOSSARY

TITLE = "Glossary"


class Term(NamedTuple):
    """``key`` is its id on the page."""

    key: str
    name: str
    meaning: str


class GlossarySection(NamedTuple):
    """Every term, in the order of the alphabet."""

    terms: tuple[Term, ...]


def build(case: Case) -> GlossarySection:
    """Every term of the glossary: ``case`` changes nothing."""
    del case
    return GlossarySection(
        tuple(Term(_key(name), name, meaning) for name, meaning in GLOSSARY.items())
    )


def _key(name: str) -> str:
    plain = "".join(letter if letter.isalnum() else "-" for letter in name.lower())
    return f"term-{plain.strip('-')}"
