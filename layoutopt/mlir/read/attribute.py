"""Attributes that the bindings may not be able to hold."""

from __future__ import annotations

from typing import Any


def value_of(attributes: Any, name: str) -> Any | None:
    """The attribute of an op; None where the bindings have no class for it: dense complex numbers.

    Their values are never needed, for constants stay where they are.
    """
    try:
        return attributes[name]
    except TypeError:
        return None
