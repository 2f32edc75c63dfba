"""The regions of control flow: what they are called, and how often they run."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from layoutopt.ir.size import Size
from layoutopt.ir.steps import Steps
from layoutopt.mlir.read.sizes import DYNAMIC
from layoutopt.mlir.read.state import State

_PARTS = {
    "scf.for": ("",),
    "scf.forall": ("",),
    "scf.execute_region": ("",),
    "scf.if": (".then", ".else"),
    "scf.while": (".condition", ".body"),
    "scf.index_switch": (".default",),
}


@dataclass(frozen=True, slots=True)
class Body:
    """A block to be lifted."""

    name: str
    enclosing: str = ""
    """The name of the block that it runs in; empty where it runs once a call."""
    trips: int | None = 1
    """How often it runs each time that the enclosing block does; None where that is not known.

    A size where it is known at run time; less than none is none.
    """
    steps: Steps | None = None
    """What the first argument of the block counts through, where that is known and not nothing."""


def bodies(
    state: State, op: Any, enclosing: str, seen: Counter[str]
) -> Iterator[tuple[Any, Body]]:  # fmt: skip
    """The regions of an op that are planned, with their names: ``main/for.0``, ``main/if.1.then``.

    ``seen``: how many ops of each kind came before it in its block.
    """
    operation = op.operation
    if operation.name not in _PARTS:
        return
    kind = operation.name.removeprefix("scf.")
    number = seen[kind]
    seen[kind] += 1
    parts = _PARTS[operation.name]
    for place, region in enumerate(operation.regions):
        part = parts[place] if place < len(parts) else f".case.{place - len(parts)}"
        if list(region.blocks):
            name = f"{enclosing}/{kind}.{number}{part}"
            yield region, Body(name, enclosing, _trips(state, operation), _steps(state, operation))


def _steps(state: State, operation: Any) -> Steps | None:
    if operation.name != "scf.for" or "unsignedCmp" in operation.attributes:
        return None
    first, high, by = (_number(state, v) for v in list(operation.operands)[:3])
    count = _count(first, high, by)
    if not isinstance(first, int) or not isinstance(by, int) or count in (0, None):
        return None
    if isinstance(count, Size) and by != 1:
        return None
    return Steps(first, by, count)


def _trips(state: State, operation: Any) -> int | None:
    """A branch counts as taken."""
    match operation.name:
        case "scf.for":
            low, high, step = (_number(state, v) for v in list(operation.operands)[:3])
            return _count(low, high, step)
        case "scf.forall":
            names = ("staticLowerBound", "staticUpperBound", "staticStep")
            ends = [list(ir.DenseI64ArrayAttr(operation.attributes[n])) for n in names]
            if any(DYNAMIC in numbers for numbers in ends):
                return None
            return math.prod(_count(*each) or 0 for each in zip(*ends, strict=True))
        case "scf.while":
            return None
        case _:
            return 1


def _number(state: State, value: Any) -> int | None:
    found = state.sizes.number_of(value, state.scalars)
    if found is None and value in state.scalars and isinstance(value.type, ir.IntegerType):
        found = int(state.scalars[value][0].split(":")[0])
    return None if found is None else int(found) if isinstance(found, bool) else found


def _count(low: int | None, high: int | None, step: int | None) -> int | None:
    """A size where the bounds are sizes; None where one of them is not known."""
    if low is None or high is None or not isinstance(step, int) or step < 1:
        return None
    count = -(-(high - low) // step)
    return max(0, count) if isinstance(count, int) else count
