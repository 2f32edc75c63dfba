"""How tests name a rule."""

from __future__ import annotations


def name_of(value: object) -> str:
    """The catalogue name of a rule; nothing for what has none."""
    return str(getattr(value, "name", ""))
