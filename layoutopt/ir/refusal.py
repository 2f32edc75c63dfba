"""Layouts of the tensors of an op, or why it has none such."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from layoutopt.ir.layout import Layout


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why something was not done, in words a user can act on."""

    reason: str


Assignment = Mapping[int, Layout]
"""A layout for each tensor that an op touches."""
