"""Host files: numbers and known words stay; interfaces and all other names become other names."""

from __future__ import annotations

from typing import Any

from l4strace.redact import words
from l4strace.redact.mask import Mask


def redacted(host: dict[str, Any], mask: Mask) -> dict[str, Any]:
    """``host``, as `ingest.host_file.read` gives it, without `path`."""
    copy: dict[str, Any] = _value({name: v for name, v in host.items() if name != "path"}, mask)
    kernel = host.get("kernel")
    if isinstance(kernel, dict) and isinstance(kernel.get("release"), str):
        copy["kernel"]["release"] = words.release(kernel["release"])
    versions = host.get("versions")
    if isinstance(versions, dict):
        copy["versions"] = {
            words.key(name, mask): words.version(text)
            for name, text in versions.items()
            if isinstance(text, str)
        }
    return copy


def _value(value: Any, mask: Mask) -> Any:
    if isinstance(value, dict):
        return {words.key(name, mask): _value(item, mask) for name, item in value.items()}
    if isinstance(value, list):
        return [_value(item, mask) for item in value]
    return words.value(value, mask) if isinstance(value, str) else value
