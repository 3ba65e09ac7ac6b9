"""Every rule, listed by hand: a rule that is not in `RULES` does not exist.

To add one: copy the file of a neighbour, take the next free code at the end of its family (codes
are never reused), list it here, and write its test with a case that fires and one that stays
silent. `l4strace explain CODE` prints the module's docstring.
"""

from collections.abc import Iterable

from l4strace.errors import UsageError
from l4strace.model import Rule

RULES: tuple[Rule, ...] = ()

FAMILIES = {
    "0": "capture quality",
    "1": "negotiation and path",
    "2": "sender behaviour",
    "3": "classic-ECN fallback",
    "4": "bottleneck and queue",
    "5": "coexistence",
    "6": "host set-up",
}
"""What the first digit of a code says."""


def find(word: str) -> Rule:
    """The rule with this code (`L4S301`, `301`) or name (`fallback-misfire`)."""
    for rule in RULES:
        if word.lower() == rule.name or word.upper().removeprefix("L4S") == rule.code[3:]:
            return rule
    raise UsageError(f"no rule {word!r}", "l4strace explain lists all rules.")


def select(chosen: Iterable[str] = (), ignored: Iterable[str] = ()) -> tuple[Rule, ...]:
    """The rules to ask: all or those ``chosen``, without those ``ignored``.

    Words are codes, prefixes of codes (`L4S3`) or names. Raises UsageError for a word that means
    no rule.
    """
    wanted = {rule.code for word in chosen for rule in _some(word)} or {r.code for r in RULES}
    unwanted = {rule.code for word in ignored for rule in _some(word)}
    return tuple(rule for rule in RULES if rule.code in wanted - unwanted)


def _some(word: str) -> list[Rule]:
    matches = _matching(word)
    if not matches:
        raise UsageError(f"no rule begins with {word!r}", "l4strace explain lists all rules.")
    return matches


def _matching(word: str) -> list[Rule]:
    code = word.upper()
    code = code if code.startswith("L4S") else f"L4S{code}"
    return [rule for rule in RULES if rule.name == word.lower() or rule.code.startswith(code)]
