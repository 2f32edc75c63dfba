"""Options that name something of the model."""

from __future__ import annotations

from collections.abc import Collection

from layoutopt.errors import InputError


def check_named(option: str, name: str, known: Collection[str], needed: str, without: str) -> None:
    """Raises InputError where a model has nothing of the ``name`` that an option gives.

    ``needed``: the model that has any. ``without``: one that has none.
    """
    if name in known:
        return
    where = f"{option} {name}"
    if not known:
        raise InputError(where, needed, without, "leave the option out")
    raise InputError(where, f"one of {', '.join(known)}", "another name", "correct the option")
