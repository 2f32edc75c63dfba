"""What lifting knows so far: the tensors, scalars and inits that MLIR values stand for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from iree.compiler import ir

from layoutopt.ir.affine import identity_map
from layoutopt.ir.extension import Extension
from layoutopt.ir.extensions import extensions
from layoutopt.ir.graph import Constant, GraphBuilder, IteratorType, Structured, Uninitialized
from layoutopt.ir.scalar import fill_body
from layoutopt.ir.types import TensorType

MOST_ELEMENTS = 1 << 40
"""Of a tensor that is planned."""


@dataclass
class State:
    """The graph under construction, keyed by MLIR values."""

    builder: GraphBuilder = field(default_factory=GraphBuilder)
    tensors: dict[Any, int] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)
    scalars: dict[Any, tuple[str, str]] = field(default_factory=dict)
    empties: dict[Any, int] = field(default_factory=dict)
    """For each ``tensor.empty``, how many kept ops come before it."""
    fills: dict[Any, str] = field(default_factory=dict)
    splats: dict[Any, str] = field(default_factory=dict)
    outputs: dict[int, None] = field(default_factory=dict)
    inputs: list[int] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    planned: list[Any] = field(default_factory=list)
    deferred: dict[Any, Any] = field(default_factory=dict)
    """The op of each scalar that is computed: it stays only where an op that stays reads it."""
    scalar_tensors: dict[Any, int] = field(default_factory=dict)
    """The tensor without dims that holds a scalar, for ops that read it as one."""
    stages: dict[int, int] = field(default_factory=dict)
    packs: bool = False
    """Whether ``linalg.pack`` is understood: what computes weights may hold one, a model not."""
    extensions: dict[str, type[Extension]] = field(default_factory=extensions)
    """Kinds of ops that say of themselves how they are read, by name."""

    def keep(self, op: Any) -> tuple[int, ...]:
        """Leave an op where it is; the tensors that it reads, itself or inside its regions."""
        self.kept.append(op)
        found: dict[int, None] = {}

        def visit(operation: Any) -> None:
            for value in operation.operands:
                if value in self.tensors or value in self.fills or value in self.empties:
                    found[tensor_of(self, value)] = None
            for region in operation.regions:
                for block in region.blocks:
                    for inner in block.operations:
                        visit(inner.operation)

        visit(op.operation)
        self.outputs.update(found)
        return tuple(found)


class NotUnderstood(Exception):  # noqa: N818 -- it is control flow: the op stays as it is
    """The graph cannot see through an op; the text says why."""


def given(state: State, value: Any, kind: TensorType) -> None:
    """A tensor from outside: an argument of the function."""
    tensor = new_tensor(state, value, kind)
    state.stages[tensor] = 0
    state.inputs.append(tensor)


def new_tensor(state: State, value: Any, kind: TensorType) -> int:
    """A tensor of the graph for an MLIR value."""
    tensor = state.builder.tensor(kind.shape, kind.element)
    state.tensors[value] = tensor
    state.values[tensor] = value
    return tensor


def tensor_of(state: State, value: Any) -> int:
    """The tensor of an MLIR value; fills and empty tensors become ops on first use."""
    if value in state.tensors:
        return state.tensors[value]
    kind = static_type(value.type)
    if value in state.fills:
        text = state.fills[value]
        tensor = new_tensor(state, value, kind)
        rank = len(kind.shape)
        state.builder.add(
            Structured(
                (),
                (Uninitialized(),),
                (tensor,),
                kind.shape,
                (IteratorType.PARALLEL,) * rank,
                (identity_map(rank),),
                fill_body(text, kind.element),
            )
        )
        return tensor
    if value in state.empties:
        tensor = new_tensor(state, value, kind)
        state.stages[tensor] = state.empties[value]
        state.builder.add(Constant(tensor))
        return tensor
    raise NotUnderstood("expected tensors of static shape, but one operand is not")


def known_type(kind: Any) -> TensorType | None:
    """The type of a tensor that the graph holds: static and not empty, else None."""
    found = tensor_type(kind)
    return None if found is None or 0 in found.shape else found


def tensor_type(kind: Any) -> TensorType | None:
    """The type as the graph knows it, None for anything but a static tensor without encoding.

    A tensor that no memory holds is none either: times and sizes stay within 64 bits.
    """
    if not isinstance(kind, ir.RankedTensorType):
        return None
    if not kind.has_static_shape or kind.encoding is not None:
        return None
    if max(math.prod(kind.shape), *kind.shape, 0) > MOST_ELEMENTS:
        return None
    return TensorType(tuple(kind.shape), str(kind.element_type))


def static_type(kind: Any) -> TensorType:
    """The type of a static tensor that holds something. Raises NotUnderstood for any other."""
    found = tensor_type(kind)
    if found is None and isinstance(kind, ir.RankedTensorType) and kind.has_static_shape:
        raise NotUnderstood(f"expected tensors of plain memory, but got {kind}")
    if found is None:
        raise NotUnderstood(f"expected tensors of static shape, but got {kind}")
    if 0 in found.shape:
        raise NotUnderstood(f"expected tensors with elements, but got {kind}")
    return found
