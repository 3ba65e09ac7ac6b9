"""Manifests: what a study writes about a run, as JSON, TOML or YAML."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from l4strace.errors import InputError, UsageError, reason
from l4strace.ingest import untrusted
from l4strace.studies import places
from l4strace.studies.parameters import REPETITION, Value, flat, plain

MOST_BYTES = 1 << 20
NAMES = ("manifest", "parameters", "params", "run")
ENDINGS = (".json", ".toml", ".yaml", ".yml")


def stem(name: str, wanted: str = "") -> str | None:
    """The run that a file of this ``name`` describes: empty for its folder; null for no manifest.

    ``wanted`` is the name that the user gives manifests, else the usual ones count.
    """
    if wanted:
        return "" if name == wanted else None
    for ending in ENDINGS:
        base = name.removesuffix(ending)
        if base != name and base in NAMES:
            return ""
        if base != name and base.endswith(".manifest"):
            return base.removesuffix(".manifest")
    return None


def read(path: str) -> tuple[dict[str, Value], str | None]:
    """Parameters and repetition: those of the object `parameters`, else all that is scalar.

    Raises InputError for what cannot be parsed, UsageError where a parser is missing.
    """
    content = places.read(path, MOST_BYTES)
    try:
        value = _parsed(path, content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: {reason(error)}") from error
    if not isinstance(value, Mapping):
        raise InputError(f"{path}: a manifest is one object of names and values")
    named = value.get("parameters")
    parameters = flat(named if isinstance(named, Mapping) else value)
    repetition = plain(value.get("repetition")) if isinstance(named, Mapping) else None
    for name in [name for name in parameters if REPETITION.fullmatch(name)]:
        repetition = parameters.pop(name)
    return parameters, None if repetition is None else str(repetition)


def _parsed(path: str, content: bytes) -> Any:
    if path.endswith(".json"):
        return untrusted.parsed(content)
    text = content.decode("utf-8")
    if path.endswith(".toml"):
        try:
            import tomllib
        except ImportError as error:  # pragma: no cover - Python 3.10
            raise UsageError(f"{path}: TOML needs Python 3.11 or newer") from error
        return tomllib.loads(text)
    try:
        import yaml
    except ImportError as error:
        raise UsageError(f"{path}: YAML needs PyYAML", "pip install pyyaml") from error
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
