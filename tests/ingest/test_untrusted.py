"""Foreign JSON as clean values, wherever they stand in it."""

from __future__ import annotations

import pytest

from l4strace.ingest import untrusted


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (r'"\ud800a"', "?a"),
        (r'"\u00e9"', "\u00e9"),
        ("9223372036854775808", 2**63),
        ("18446744073709551616", None),
        ("-9223372036854775809", None),
        ("1e999", None),
        ("true", True),
        ("null", None),
        ("1.5", 1.5),
    ],
)
def test_a_value_is_cleaned_alone_in_objects_and_in_lists(text: str, value: object) -> None:
    assert untrusted.parsed(text) == value
    assert untrusted.parsed(f'{{"a": {text}}}') == {"a": value}
    assert untrusted.parsed(f'[{text}, {{"a": [{text}]}}]') == [value, {"a": [value]}]


def test_names_of_fields_are_cleaned() -> None:
    assert untrusted.parsed(r'{"\ud800a": 1, "\u00e9": "x"}') == {"?a": 1, "\u00e9": "x"}


def test_a_number_beyond_64_bits_is_refused_where_that_is_asked() -> None:
    with pytest.raises(ValueError, match="beyond 64 bits"):
        untrusted.parsed('{"a": 18446744073709551616}', strict=True)
