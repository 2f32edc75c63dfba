"""The dataflow graph: immutable tensors and ops, in the field's own terms.

A tensor is a number; its type stands in ``Graph.types``. Ops are values without identity of
their own; their place in ``Graph.ops`` names them. A tensor may have several producers: they
are equal ways to compute it (an e-class), added by rewrite rules.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from layoutopt.ir.extension import Extension
from layoutopt.ir.gather import Gather
from layoutopt.ir.ops import (
    Concat,
    Constant,
    DispatchRegion,
    Fill,
    FromTensor,
    FusionBarrier,
    Init,
    Insert,
    IteratorType,
    Op,
    Opaque,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
    each_op,
    kind_name,
    named_sizes,
    needs_open_sizes,
    tensors_made,
)
from layoutopt.ir.packed_ops import Pack, Unpack
from layoutopt.ir.scatter import Scatter
from layoutopt.ir.types import TensorType

__all__ = [
    "Concat",
    "Constant",
    "DispatchRegion",
    "Extension",
    "Fill",
    "FromTensor",
    "FusionBarrier",
    "Gather",
    "Graph",
    "GraphBuilder",
    "Init",
    "Insert",
    "IteratorType",
    "Op",
    "Opaque",
    "Pack",
    "Pad",
    "Reshape",
    "Scatter",
    "Slice",
    "Structured",
    "Uninitialized",
    "Unpack",
    "each_op",
    "kind_name",
    "named_sizes",
    "needs_open_sizes",
    "tensors_made",
]


@dataclass(frozen=True)
class Graph:
    """Tensors and ops in an order where every op comes after at least one way to its inputs."""

    types: tuple[TensorType, ...]
    ops: tuple[Op, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    names: tuple[str, ...] = field(default=(), compare=False)
    """A name per op for reports; empty where they have none."""
    fixed: frozenset[int] = frozenset()
    """Inputs and outputs whose memory others than the caller see too: they lie row-major."""
    handed_only: Mapping[int, frozenset[str]] = field(default_factory=dict, compare=False)
    """Outputs that nothing reads but what hands them on, with the names of these (`Carried`)."""
    weight_names: Mapping[int, str] = field(default_factory=dict, compare=False)
    """What constants are called in their module: equal names for equal values, in all functions."""

    @cached_property
    def is_static(self) -> bool:
        """Whether all sizes in it are numbers."""
        return all(kind.is_static for kind in self.types) and not any(
            map(needs_open_sizes, self.ops)
        )

    @cached_property
    def producers(self) -> tuple[tuple[int, ...], ...]:
        """For each tensor, the ops that make it."""
        return _with_makers([()] * len(self.types), self.ops)

    @cached_property
    def consumers(self) -> tuple[tuple[int, ...], ...]:
        """For each tensor, the ops that read it, each once."""
        return _with_readers([()] * len(self.types), self.ops)

    @cached_property
    def constants(self) -> frozenset[int]:
        """Tensors that depend on constants alone; IREE evaluates them ahead of time."""
        return _with_constants(frozenset(), self._varying, self.ops)

    @cached_property
    def _varying(self) -> frozenset[int]:
        """Inputs, and tensors of sizes or from places that are known at run time only."""
        return _varying_among(self, 0, 0).union(self.inputs)

    @cached_property
    def _made(self) -> frozenset[int]:
        """Tensors that ops make."""
        return frozenset(t for op in self.ops for t in op.outputs)

    @cached_property
    def empty(self) -> frozenset[int]:
        """Tensors without elements, at the sizes that are planned for."""
        return _empty_among(self.types)

    @cached_property
    def worked_out(self) -> dict[Hashable, Any]:
        """What others worked out of this graph, under keys of theirs; it lives as long."""
        return {}

    @cached_property
    def splats(self) -> dict[int, str]:
        """Constants with one value everywhere, and that value."""
        return _splats_of(self.ops)

    def name_of(self, op: int) -> str:
        """The name of an op in reports."""
        if op < len(self.names):
            return self.names[op]
        return f"{kind_name(self.ops[op])}.{op}"

    def extended(
        self, types: Iterable[TensorType], ops: Iterable[Op], names: Iterable[str] = ()
    ) -> Graph:
        """This graph with more tensors and ops behind the ones it has."""
        named = self.names
        if len(named) < len(self.ops):
            named = tuple(map(self.name_of, range(len(self.ops))))
        grown = replace(
            self,
            types=(*self.types, *types),
            ops=(*self.ops, *ops),
            names=(*named, *names),
        )
        self._hand_on(grown)
        return grown

    def seen_with(self, producers: Places, consumers: Places) -> Graph:
        """This graph with other producers and consumers of its tensors, such as one of several.

        What else is worked out of a graph stays what it is with all of them.
        """
        kept = {"constants": self.constants, "splats": self.splats, "empty": self.empty}
        seen = replace(self)
        vars(seen).update(kept, producers=producers, consumers=consumers)
        return seen

    def _hand_on(self, grown: Graph) -> None:
        """Keep what was worked out of this graph: a longer one only adds to it.

        Saturation extends a graph hundreds of times, and asks each for these.
        """
        known, start = vars(self), len(self.ops)
        new = grown.ops[start:]
        room = [()] * (len(grown.types) - len(self.types))
        if "producers" in known:
            vars(grown)["producers"] = _with_makers([*self.producers, *room], new, start)
        if "consumers" in known:
            vars(grown)["consumers"] = _with_readers([*self.consumers, *room], new, start)
        if "splats" in known:
            vars(grown)["splats"] = self.splats | _splats_of(new)
        if "empty" in known:
            vars(grown)["empty"] = self.empty | _empty_among(grown.types, len(self.types))
        if "constants" in known:
            found = _varying_among(grown, len(self.types), start)
            vars(grown)["_varying"] = self._varying | found
            vars(grown)["_made"] = self._made.union(t for op in new for t in op.outputs)
            varying = (self._made | grown._varying) - self.constants
            vars(grown)["constants"] = _with_constants(self.constants, varying, new)


def _splats_of(ops: Sequence[Op]) -> dict[int, str]:
    return {op.result: op.splat for op in ops if isinstance(op, Constant) and op.splat is not None}


def _empty_among(types: Sequence[TensorType], first: int = 0) -> frozenset[int]:
    return frozenset(t for t in range(first, len(types)) if not types[t].elements)


def _varying_among(graph: Graph, first_type: int, first_op: int) -> frozenset[int]:
    """Tensors of sizes or from places that are known at run time only: of the later ones."""
    dynamic = (t for t in range(first_type, len(graph.types)) if not graph.types[t].is_static)
    placed = (t for op in graph.ops[first_op:] if needs_open_sizes(op) for t in op.outputs)
    return frozenset((*dynamic, *placed))


Places = tuple[tuple[int, ...], ...]


def _with_makers(known: list[tuple[int, ...]], ops: Sequence[Op], start: int = 0) -> Places:
    """For each tensor the ops that make it, with those of ``ops``, numbered from ``start`` on."""
    for index, op in enumerate(ops, start):
        for tensor in op.outputs:
            known[tensor] = (*known[tensor], index)
    return tuple(known)


def _with_readers(known: list[tuple[int, ...]], ops: Sequence[Op], start: int = 0) -> Places:
    """The same for the ops that read it."""
    for index, op in enumerate(ops, start):
        for tensor in dict.fromkeys(op.inputs):
            known[tensor] = (*known[tensor], index)
    return tuple(known)


def _with_constants(
    known: frozenset[int], varying: AbstractSet[int], ops: Sequence[Op]
) -> frozenset[int]:
    """Constant tensors, those that ``ops`` make too.

    ``varying``: tensors that are not, though another way to make one reads constants alone.
    """
    found, others = set(known), set(varying)
    for op in ops:
        if isinstance(op, Constant) or (
            not isinstance(op, Opaque) and all(t in found for t in op.inputs)
        ):
            found.update(t for t in op.outputs if t not in others)
        else:
            others.update(t for t in op.outputs if t not in found)
    return frozenset(found)


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
        return Graph(
            tuple(self.types), tuple(self.ops), tuple(inputs), tuple(outputs), tuple(self.names)
        )
