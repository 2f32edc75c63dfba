"""The dataflow graph: immutable tensors and ops, in the field's own terms.

A tensor is a number; its type stands in ``Graph.types``. Ops are values without identity of
their own; their place in ``Graph.ops`` names them. A tensor may have several producers: they
are equal ways to compute it (an e-class), added by rewrite rules.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from layoutopt.affine import IndexMap
from layoutopt.scalar import Body, is_contraction, is_copy
from layoutopt.types import TensorType


class IteratorType(Enum):
    """How the points of one iteration dim relate."""

    PARALLEL = "parallel"
    REDUCTION = "reduction"


@dataclass(frozen=True, slots=True)
class Uninitialized:
    """An init that is never read (``tensor.empty``)."""


@dataclass(frozen=True, slots=True)
class Fill:
    """An init that holds one value everywhere (``linalg.fill``); the value as MLIR text."""

    value: str


@dataclass(frozen=True, slots=True)
class FromTensor:
    """An init that is another tensor: accumulation goes on from it."""

    tensor: int


Init = Uninitialized | Fill | FromTensor


@dataclass(frozen=True, slots=True)
class Structured:
    """A linalg op: a body run over an iteration domain, operands read through indexing maps.

    ``maps`` holds one map per input, then one per result. ``domain`` are the loop sizes.
    """

    sources: tuple[int, ...]
    inits: tuple[Init, ...]
    results: tuple[int, ...]
    domain: tuple[int, ...]
    iterators: tuple[IteratorType, ...]
    maps: tuple[IndexMap, ...]
    body: Body
    hint: bool = False
    """Ask IREE to data-tile this op (``iree.opt.data_tiling``)."""

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read: sources, then tensors that inits start from."""
        return (*self.sources, *(i.tensor for i in self.inits if isinstance(i, FromTensor)))

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return self.results

    @property
    def source_maps(self) -> tuple[IndexMap, ...]:
        """The maps of the inputs."""
        return self.maps[: len(self.sources)]

    @property
    def result_maps(self) -> tuple[IndexMap, ...]:
        """The maps of the results."""
        return self.maps[len(self.sources) :]

    @property
    def reduction_dims(self) -> tuple[int, ...]:
        """The dims that are summed (or otherwise folded) over."""
        return tuple(
            d for d, kind in enumerate(self.iterators) if kind is IteratorType.REDUCTION
        )

    @property
    def is_contraction(self) -> bool:
        """Whether it multiplies two tensors and adds up: matmul, convolution and their kin."""
        return len(self.sources) == 2 and is_contraction(self.body) and bool(self.reduction_dims)

    @property
    def is_copy(self) -> bool:
        """Whether it only moves data: transpose, broadcast, gather by an affine map."""
        return is_copy(self.body) and not self.reduction_dims

    @property
    def is_elementwise(self) -> bool:
        """All loops parallel and every result written at its own point."""
        return not self.reduction_dims


@dataclass(frozen=True, slots=True)
class Pad:
    """``tensor.pad`` with one constant value, given as MLIR text."""

    source: int
    result: int
    low: tuple[int, ...]
    high: tuple[int, ...]
    value: str

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return (self.source,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)


@dataclass(frozen=True, slots=True)
class Slice:
    """``tensor.extract_slice`` without rank reduction."""

    source: int
    result: int
    offsets: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return (self.source,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)


@dataclass(frozen=True, slots=True)
class Insert:
    """``tensor.insert_slice`` without rank extension."""

    source: int
    destination: int
    result: int
    offsets: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return (self.source, self.destination)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)


@dataclass(frozen=True, slots=True)
class Concat:
    """``tensor.concat`` along one dim."""

    sources: tuple[int, ...]
    result: int
    axis: int

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return self.sources

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)


@dataclass(frozen=True, slots=True)
class Reshape:
    """A change of shape that keeps the row-major order of elements (collapse or expand)."""

    source: int
    result: int

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return (self.source,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)


@dataclass(frozen=True, slots=True)
class Fence:
    """The identity, as a line that IREE's fusion does not cross.

    Stands behind a conversion: IREE would fold it into its consumer, in a form that nobody priced.
    """

    source: int
    result: int

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return (self.source,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)


@dataclass(frozen=True, slots=True)
class Constant:
    """A weight or other constant; its value stays an MLIR attribute that is never read here.

    ``splat`` is the one value of a splat constant, as MLIR text.
    """

    result: int
    splat: str | None = None

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return ()

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)


@dataclass(frozen=True, slots=True)
class Opaque:
    """An op that the graph cannot see through; it takes and gives row-major tensors."""

    name: str
    sources: tuple[int, ...]
    results: tuple[int, ...]
    reason: str

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return self.sources

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return self.results


Op = Structured | Pad | Slice | Insert | Concat | Reshape | Fence | Constant | Opaque


def kind_name(op: Op) -> str:
    """The word for an op in reports: contraction, elementwise, reduction, pad, ..."""
    if not isinstance(op, Structured):
        return op.name if isinstance(op, Opaque) else type(op).__name__.lower()
    if op.is_contraction:
        windowed = any(len(form.terms) > 1 for m in op.source_maps for form in m)
        return "convolution" if windowed else "contraction"
    if op.reduction_dims:
        windowed = any(len(form.terms) > 1 for m in op.source_maps for form in m)
        return "pooling" if windowed else "reduction"
    if not op.sources:
        return "fill"
    return "copy" if op.is_copy else "elementwise"


@dataclass(frozen=True)
class Graph:
    """Tensors and ops in an order where every op comes after at least one way to its inputs."""

    types: tuple[TensorType, ...]
    ops: tuple[Op, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    names: tuple[str, ...] = field(default=(), compare=False)
    """A name per op for reports; empty where nobody named them."""

    @cached_property
    def producers(self) -> tuple[tuple[int, ...], ...]:
        """For each tensor, the ops that make it."""
        found: list[list[int]] = [[] for _ in self.types]
        for index, op in enumerate(self.ops):
            for tensor in op.outputs:
                found[tensor].append(index)
        return tuple(map(tuple, found))

    @cached_property
    def consumers(self) -> tuple[tuple[int, ...], ...]:
        """For each tensor, the ops that read it, each once."""
        found: list[list[int]] = [[] for _ in self.types]
        for index, op in enumerate(self.ops):
            for tensor in dict.fromkeys(op.inputs):
                found[tensor].append(index)
        return tuple(map(tuple, found))

    @cached_property
    def constants(self) -> frozenset[int]:
        """Tensors that depend on constants alone; IREE evaluates them ahead of time."""
        found: set[int] = set()
        for op in self.ops:
            if isinstance(op, Opaque):
                continue
            if isinstance(op, Constant) or all(t in found for t in op.inputs):
                found.update(op.outputs)
        return frozenset(found)

    def name_of(self, op: int) -> str:
        """The name of an op in reports."""
        if op < len(self.names):
            return self.names[op]
        return f"{kind_name(self.ops[op])}.{op}"

    def extended(self, types: Iterable[TensorType], ops: Iterable[Op],
                 names: Iterable[str] = ()) -> Graph:
        """This graph with more tensors and ops behind the ones it has."""
        return replace(
            self,
            types=(*self.types, *types),
            ops=(*self.ops, *ops),
            names=(*map(self.name_of, range(len(self.ops))), *names),
        )


class GraphBuilder:
    """Collects tensors and ops; ``build`` freezes them."""

    def __init__(self, first_tensor: int = 0) -> None:
        """``first_tensor``: the number of the first new tensor (when extending a graph)."""
        self._first = first_tensor
        self.types: list[TensorType] = []
        self.ops: list[Op] = []
        self.names: list[str] = []

    def tensor(self, shape: Iterable[int], element: str) -> int:
        """A new tensor."""
        self.types.append(TensorType(tuple(shape), element))
        return self._first + len(self.types) - 1

    def add(self, op: Op, name: str | None = None) -> Op:
        """A new op."""
        self.names.append(name or f"{kind_name(op)}.{len(self.ops)}")
        self.ops.append(op)
        return op

    def build(self, inputs: Iterable[int], outputs: Iterable[int]) -> Graph:
        """The graph of all that was added."""
        return Graph(tuple(self.types), tuple(self.ops), tuple(inputs), tuple(outputs),
                     tuple(self.names))
