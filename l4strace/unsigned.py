"""Signatures of functions that are worked out when someone looks at them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class Signature(inspect.Signature):
    """The signature of a function, as `inspect.signature` has it from its first use on."""

    __slots__ = ("function",)

    function: Callable[..., Any]

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Signature:
        """That of ``function``."""
        late = cls.__new__(cls)
        late.function = function
        return late

    def __getattr__(self, name: str) -> Any:
        if name not in inspect.Signature.__slots__:
            raise AttributeError(name)
        known = inspect.Signature.from_callable(self.function)
        for slot in inspect.Signature.__slots__:
            setattr(self, slot, getattr(known, slot))
        return getattr(known, name)
