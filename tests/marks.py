"""Marks of parameters."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from _pytest.mark import ParameterSet


def long(*values: object) -> ParameterSet:
    """Parameters of a test that `make test` leaves out."""
    return pytest.param(*values, marks=pytest.mark.long)


def long_but(kept: Collection[object], values: Iterable[object]) -> list[ParameterSet]:
    """Parameters of a test, of which `make test` takes those that are kept."""
    return [pytest.param(v) if v in kept else long(v) for v in values]
