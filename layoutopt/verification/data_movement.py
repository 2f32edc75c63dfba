"""Which dispatches of a compiled module only move data, by the names that IREE gives them.

What IREE really runs differs from the plan's conversions: it may fuse a pack into its producer, or
run a pad or slice as a copy of its own. The report says both.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from layoutopt.compiler.installed import quirks
from layoutopt.runtime.dispatch import DispatchTime


@dataclass(frozen=True, slots=True)
class MoveDispatch:
    """A dispatch that only moves data: calls per run and mean nanoseconds of a call."""

    name: str
    kind: str
    count: int
    mean_ns: int


def move_dispatches(dispatches: Iterable[DispatchTime]) -> tuple[MoveDispatch, ...]:
    """Those of the dispatches that only move data, in order of first execution."""
    found = []
    for dispatch in dispatches:
        match = quirks().names.moving.search(dispatch.name)
        if match:
            kind = match[1].removeprefix("slow_")
            found.append(MoveDispatch(dispatch.name, kind, dispatch.count, round(dispatch.mean_ns)))
    return tuple(found)
