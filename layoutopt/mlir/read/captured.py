"""What a block knows of the values that it captures.

A constant outside is one inside, so that it can be packed ahead of time, and what is computed of
constants alone is computed inside anew. Scalars, fills and sizes are what they are outside. Any
other tensor is an input of the block's graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from layoutopt.ir.graph import Constant, Op, Opaque, needs_open_sizes
from layoutopt.ir.renaming import renumbered
from layoutopt.mlir.read.nested import nested_ops
from layoutopt.mlir.read.sizes import Sizes
from layoutopt.mlir.read.state import State, given, known_type


def capture(state: State, block: Any, around: Sequence[State]) -> None:
    """Let a block know what is known outside of it. ``around``: innermost first."""
    if not around:
        return
    _know_symbols(state.sizes, around[0].sizes)
    for value in captured_values(block):
        for outer in around:
            if _know(state, value, outer):
                break


def captured_values(block: Any) -> tuple[Any, ...]:
    """The values from outside that ops of a block read, themselves or inside their regions."""
    made: set[Any] = set()
    read: dict[Any, None] = {}
    made.update(block.arguments)
    for op in block.operations:
        for operation in nested_ops(op.operation):
            read.update(dict.fromkeys(operation.operands))
            made.update(operation.results)
            made.update(a for r in operation.regions for b in r.blocks for a in b.arguments)
    return tuple(value for value in read if value not in made)


def _know_symbols(sizes: Sizes, outer: Sizes) -> None:
    """Their values are there before the block's first op."""
    sizes.values.update(outer.values)
    sizes.stages.update(dict.fromkeys(outer.values, 0))
    sizes.equal.update(outer.equal)
    sizes.narrowed.update(outer.narrowed)
    sizes.ends.update(outer.ends)


def _know(state: State, value: Any, outer: State) -> bool:
    """Learn what one of the blocks around knows of a value; whether it knows something."""
    if value in outer.sizes.shapes:
        state.sizes.shapes[value] = outer.sizes.shapes[value]
    if value in outer.splats:
        state.splats[value] = outer.splats[value]
    if value in outer.scalars:
        state.scalars[value] = outer.scalars[value]
    elif value in outer.sizes.numbers:
        state.sizes.numbers[value] = outer.sizes.numbers[value]
    elif value in outer.fills:
        state.fills[value] = outer.fills[value]
        state.recomputed.add(value)
    elif value in outer.empties:
        state.empties[value] = 0
        state.recomputed.add(value)
    elif value in outer.tensors:
        _know_tensor(state, value, outer)
    else:
        return False
    return True


def _know_tensor(state: State, value: Any, outer: State) -> None:
    if value in state.tensors:
        return  # what another constant is computed from
    makers = {t: op for op in outer.builder.ops for t in op.outputs}
    tensor = outer.tensors[value]
    ops = _of_constants(tensor, outer, makers)
    if ops is not None:
        _recompute(state, outer, ops)
        return
    kind = known_type(state, value)
    if kind is not None:
        given(state, value, kind)


def _of_constants(tensor: int, outer: State, makers: Mapping[int, Op]) -> list[Op] | None:
    """The ops that compute a tensor of constants, in order; None where it is not of those alone."""
    found: dict[Op, None] = {}
    left = [tensor]
    while left:
        op = makers.get(left.pop())
        static = op is not None and all(outer.builder.types[t].is_static for t in op.outputs)
        if op is None or isinstance(op, Opaque) or not static or needs_open_sizes(op):
            return None
        if op not in found:
            found[op] = None
            left.extend(op.inputs)
    return [op for op in outer.builder.ops if op in found]


def _recompute(state: State, outer: State, ops: Sequence[Op]) -> None:
    """Compute tensors inside as they are computed outside."""
    known = {outer.tensors[v]: t for v, t in state.tensors.items() if v in outer.tensors}
    values = {t: v for v, t in outer.tensors.items()}
    for op in ops:
        if all(t in known for t in op.outputs):
            continue
        for t in op.outputs:
            kind = outer.builder.types[t]
            known[t] = state.builder.tensor(kind.shape, kind.element)
            if t not in values:
                continue
            state.tensors[values[t]] = known[t]
            state.recomputed.add(values[t])
            if isinstance(op, Constant):
                state.values[known[t]] = outer.values[t]
                state.stages[known[t]] = 0
        state.builder.add(renumbered(op, known))
