"""What lifting knows so far: the tensors, scalars and inits that MLIR values stand for."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from iree.compiler import ir

from layoutopt.ir.affine import identity_map
from layoutopt.ir.extension import Extension
from layoutopt.ir.extensions import extensions
from layoutopt.ir.graph import Constant, GraphBuilder, IteratorType, Structured, Uninitialized
from layoutopt.ir.scalar import fill_body
from layoutopt.ir.size import MOST, planned, symbol
from layoutopt.ir.types import TensorType
from layoutopt.mlir.read.nested import nested_ops
from layoutopt.mlir.read.sizes import Sizes

_BATCH = 4
_LENGTH = 128


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
    sizes: Sizes = field(default_factory=Sizes)
    handed: dict[Any, tuple[int | None, ...]] = field(default_factory=dict)
    """By tensor that control flow hands on, its sizes as far as they are known ahead of it."""
    prefix: str = ""
    """What names of sizes begin with: empty for a function, else the name of the block."""
    recomputed: set[Any] = field(default_factory=set)
    """Values from outside of the block that its graph computes anew: ops that stay read them as
    they are."""
    extensions: dict[str, type[Extension]] = field(default_factory=extensions)
    """Kinds of ops that say of themselves how they are read, by name."""

    def keep(self, op: Any) -> tuple[int, ...]:
        """Leave an op where it is; the tensors that it reads, itself or inside its regions."""
        self.kept.append(op)
        found: dict[int, None] = {}
        for operation in nested_ops(op.operation):
            for value in operation.operands:
                if value in self.recomputed:
                    continue
                if value in self.tensors or value in self.fills or value in self.empties:
                    found[tensor_of(self, value)] = None
        self.outputs.update(found)
        return tuple(found)


class NotUnderstood(Exception):  # noqa: N818 -- it is control flow: the op stays as it is
    """The graph cannot see through an op; the text says why."""


class PlaceNotLinear(NotUnderstood):
    """A body reads a tensor at a place that no indexing map says."""


def given(state: State, value: Any, kind: TensorType) -> None:
    """A tensor from outside: an argument, or one that a block captures."""
    tensor = new_tensor(state, value, kind)
    state.stages[tensor] = 0
    state.inputs.append(tensor)


def new_tensor(state: State, value: Any, kind: TensorType) -> int:
    """A tensor of the graph for an MLIR value."""
    tensor = state.builder.tensor(kind.shape, kind.element)
    state.tensors[value] = tensor
    state.values[tensor] = value
    return tensor


def type_by_now(state: State, tensor: int) -> TensorType:
    """The type of a tensor of the graph, its sizes as they are known by now."""
    kind = state.builder.types[tensor]
    return TensorType(tuple(map(state.sizes.resolved, kind.shape)), kind.element)


def tensor_of(state: State, value: Any) -> int:
    """The tensor of an MLIR value; fills and empty tensors become ops on first use."""
    if value in state.tensors:
        return state.tensors[value]
    kind = static_type(state, value)
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
        if kind.is_static:
            state.builder.add(Constant(tensor))
        else:
            state.inputs.append(tensor)
        return tensor
    raise NotUnderstood("expected tensors of known sizes, but one operand is not")


def known_type(state: State, value: Any) -> TensorType | None:
    """The type of a tensor that the graph holds: of known sizes and not empty, else None."""
    found = type_of(state, value)
    return None if found is None or 0 in found.shape else found


def type_of(state: State, value: Any) -> TensorType | None:
    """The type of a value as the graph knows it, None for anything but a tensor of known sizes."""
    if not isinstance(value.type, ir.RankedTensorType):
        return None
    return tensor_type(value.type, state.sizes.shape_of(value))


def tensor_type(kind: Any, shape: tuple[int, ...] | None = None) -> TensorType | None:
    """The type as the graph knows it, None for anything but a tensor without encoding.

    ``shape``: its sizes, where the type leaves some open. A tensor that no memory holds is none
    either: times and sizes stay within 64 bits.
    """
    if not isinstance(kind, ir.RankedTensorType) or kind.encoding is not None:
        return None
    if kind.has_static_shape:
        shape = tuple(kind.shape)
    if shape is None or max(math.prod(map(planned, shape)), *map(planned, shape), 0) > MOST:
        return None
    return TensorType(shape, str(kind.element_type))


def static_type(state: State, value: Any) -> TensorType:
    """The type of a tensor that holds something. Raises NotUnderstood for any other value."""
    found, kind = type_of(state, value), value.type
    if found is None and isinstance(kind, ir.RankedTensorType) and kind.has_static_shape:
        raise NotUnderstood(f"expected tensors of plain memory, but got {kind}")
    if found is None:
        raise NotUnderstood(f"expected tensors of known sizes, but got {kind}")
    if 0 in found.shape:
        raise NotUnderstood(f"expected tensors with elements, but got {kind}")
    return found


def add_symbols(state: State, value: Any, name: str) -> None:
    """Let the open sizes of a tensor that ops outside of the graph make be symbols.

    ``name``: of the tensor. They are asked for right behind what makes it.
    """
    if not isinstance(value.type, ir.RankedTensorType) or value in state.sizes.shapes:
        return
    kind, shape = value.type, []
    handed = state.handed.get(value, (None,) * kind.rank)
    owner = value.owner
    inside = isinstance(owner, ir.Block)
    place = ir.InsertionPoint.at_block_begin(owner) if inside else ir.InsertionPoint.after(owner)
    for d in range(kind.rank):
        if not kind.is_dynamic_dim(d):
            shape.append(kind.get_dim_size(d))
            continue
        known = handed[d]
        if known is not None:
            shape.append(known)
            continue
        with place, ir.Location.unknown(kind.context):
            number = ir.Operation.create(
                "arith.constant",
                results=[ir.IndexType.get()],
                attributes={"value": ir.IntegerAttr.get(ir.IndexType.get(), d)},
            )
            asked = ir.Operation.create(
                "tensor.dim",
                results=[ir.IndexType.get()],
                operands=[value, number.results[0]],
            )
        make = partial(symbol, planned=planned_for(d))
        shape.append(state.sizes.name(f"{name}.{d}", make, asked.results[0], len(state.kept)))
    state.sizes.shapes[value] = tuple(shape)


def planned_for(dim: int) -> int:
    """The size of an open dim that is planned for where nothing is known of it."""
    return _BATCH if dim == 0 else _LENGTH
