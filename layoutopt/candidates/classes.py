"""E-classes of a graph that grows: hash-consing, and classes united where congruence asks for it.

Two ops are one e-node where they are the same op over the same classes. A rule that makes such an
op again gets the class that is there; where it says that the op computes another class, both are
one, and with them all ops over the one and the other that are then the same, and so on.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from layoutopt.ir.graph import (
    Constant,
    DispatchRegion,
    Extension,
    FusionBarrier,
    Graph,
    Op,
    Opaque,
    Structured,
)
from layoutopt.ir.renaming import renamed, renumbered
from layoutopt.ir.types import TensorType
from layoutopt.rules.rule import Expression

_Node = tuple[Op, tuple[TensorType, ...]]
"""An op that makes no class yet, and the types of what it makes."""


@dataclass(frozen=True, slots=True)
class Addition:
    """What an expression adds to the classes that are there.

    ``expression``: its new ops over known classes. ``equal``: classes that it shows to be one.
    """

    expression: Expression
    equal: tuple[tuple[int, int], ...]

    @property
    def is_empty(self) -> bool:
        """Whether all of it is there."""
        return not self.expression.ops and not self.equal


class Classes:
    """A graph closed under congruence.

    The model's own tensors keep their numbers, and each its class: two of them that turn out to be
    equal stay apart, for the model computes both, and the same e-node is then in both classes.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._own_tensors, self._own_ops = len(graph.types), len(graph.ops)
        self._known: dict[_Node, tuple[int, ...]] = {}
        self._ops = set(graph.ops)
        self.atomic: set[int] = set()
        """Ops that have no price one by one."""
        self._into: dict[int, int] = {}
        self._whole: set[tuple[tuple[Op, ...], tuple[TensorType, ...]]] = set()
        for op in graph.ops:
            self._know(op)

    def current(self, found: Expression, tensors: int) -> Expression:
        """An expression over the classes of today, found where the graph had so many tensors."""
        first = len(self.graph.types)
        if first == tensors and not self._into:
            return found
        named = {t for op in found.ops for t in (*op.inputs, *op.outputs)}
        number = {t: self._representative(t) if t < tensors else t - tensors + first for t in named}
        return replace(found, ops=tuple(renumbered(op, number) for op in found.ops))

    def lacking(self, found: Expression) -> Addition:
        """What of an expression, numbered behind the graph's tensors, is not there yet."""
        if found.atomic:
            is_there = _numbered_from_end(found, len(self.graph.types)) in self._whole
            return Addition(replace(found, ops=(), types=()) if is_there else found, ())
        first, types = len(self.graph.types), (*self.graph.types, *found.types)
        same: dict[int, int] = {}
        ops: list[Op] = []
        equal: list[tuple[int, int]] = []

        def known(tensor: int) -> int:
            return same.get(tensor, tensor)

        for op in found.ops:
            shared = renamed(op, known)
            there = self._known.get(_node(shared, types)) if _is_e_node(shared) else None
            if there is None:
                ops.append(shared)
                continue
            pairs = [p for p in zip(shared.outputs, there, strict=True) if p[0] != p[1]]
            same.update({mine: other for mine, other in pairs if mine >= first})
            if any(map(self._both_own, pairs)):
                ops.append(shared)
            equal += [p for p in pairs if p[0] < first and not self._both_own(p)]
        ops = [op for op in ops if op not in self._ops and not {*op.inputs} & {*op.outputs}]
        return Addition(_without_gaps(replace(found, ops=tuple(ops)), first, same), tuple(equal))

    def add(self, addition: Addition, names: Sequence[str]) -> tuple[range, frozenset[int]]:
        """Have the graph grow: its new ops, and the classes that got ops or were united."""
        found = addition.expression
        first = len(self.graph.ops)
        new = range(first, first + len(found.ops))
        if found.atomic:
            self._whole.add(_numbered_from_end(found, len(self.graph.types)))
            self.atomic.update(new)
        self.graph = self.graph.extended(found.types, found.ops, names)
        self._ops.update(found.ops)
        grown = {t for op in found.ops for t in op.outputs}
        equal = list(addition.equal)
        for op in () if found.atomic else found.ops:
            equal += self._know(op)
        return new, frozenset(grown | self._unite(equal))

    def compacted(self) -> tuple[Graph, dict[int, int]]:
        """The graph, each e-node and class once; new places of ops that are still there.

        The model's own ops are all there, in their places.
        """
        kept_ops = [*self.graph.ops[: self._own_ops]]
        place: dict[Op, int] = {op: i for i, op in reversed([*enumerate(kept_ops)])}
        moved = {i: i for i in range(self._own_ops)}
        for index, op in enumerate(self.graph.ops[self._own_ops :], self._own_ops):
            if index in self.atomic or not {*op.inputs} & {*op.outputs}:
                if op not in place:
                    place[op] = len(kept_ops)
                    kept_ops.append(op)
                moved[index] = place[op]
        made = {t for op in kept_ops for t in op.outputs}
        kept = [t for t in range(len(self.graph.types)) if t < self._own_tensors or t in made]
        number = {t: i for i, t in enumerate(kept)}
        names = {place: self.graph.name_of(index) for index, place in reversed(moved.items())}
        graph = replace(
            self.graph,
            types=tuple(self.graph.types[t] for t in kept),
            ops=tuple(renumbered(op, number) for op in kept_ops),
            names=tuple(names[i] for i in range(len(kept_ops))),
        )
        return graph, moved

    def _both_own(self, pair: tuple[int, int]) -> bool:
        return max(pair) < self._own_tensors

    def _know(self, op: Op) -> list[tuple[int, int]]:
        """Know an op as an e-node; the pairs of classes that are one where it was known."""
        if not _is_e_node(op):
            return []
        there = self._known.setdefault(_node(op, self.graph.types), op.outputs)
        pairs = zip(op.outputs, there, strict=True)
        return [p for p in pairs if p[0] != p[1] and not self._both_own(p)]

    def _unite(self, equal: Iterable[tuple[int, int]]) -> set[int]:
        """Make pairs of classes one, and those that are one then; the classes that are left."""
        pending = deque(equal)
        united: set[int] = set()
        while pending:
            kept, gone = sorted(self._representative(t) for t in pending.popleft())
            if kept == gone or gone < self._own_tensors:
                continue
            self._into[gone] = kept
            united |= {kept, gone}
            pending += self._renamed(gone, kept)
        return united

    def _representative(self, tensor: int) -> int:
        """The number of a class that may have been united with another."""
        while tensor in self._into:
            tensor = self._into[tensor]
        return tensor

    def _renamed(self, gone: int, kept: int) -> list[tuple[int, int]]:
        """Read and make one class in place of another; what turns out to be the same then."""
        places = sorted({*self.graph.producers[gone], *self.graph.consumers[gone]})
        ops = list(self.graph.ops)
        for index in places:
            op = ops[index]
            node = _node(op, self.graph.types) if _is_e_node(op) else None
            if node is not None and self._known.get(node) == op.outputs:
                del self._known[node]
            tensors = (*op.inputs, *op.outputs)
            if isinstance(op, DispatchRegion):
                tensors = (*tensors, *op.inside)
            ops[index] = renumbered(op, {t: kept if t == gone else t for t in tensors})
        self.graph = replace(self.graph, ops=tuple(ops))
        self._ops = set(ops)
        return [p for i in places if i not in self.atomic for p in self._know(ops[i])]


def _is_e_node(op: Op) -> bool:
    """Whether two of the same op over the same tensors make the same."""
    if isinstance(op, Constant):
        return op.splat is not None
    return not isinstance(op, Opaque | FusionBarrier | DispatchRegion)


def _node(op: Op, types: Sequence[TensorType]) -> _Node:
    """What an op is, whatever tensors it makes."""
    made = tuple(types[t] for t in op.outputs)
    match op:
        case Structured():
            return replace(op, results=()), made
        case Extension():
            return op.renamed(lambda source: source, lambda _: -1), made
        case Opaque() | DispatchRegion():
            raise AssertionError(op)
        case _:
            return replace(op, result=-1), made


def _numbered_from_end(
    found: Expression, first: int
) -> tuple[tuple[Op, ...], tuple[TensorType, ...]]:
    """An expression over new tensors -1, -2, ...: the same for all that make the same."""
    tensors = {t for op in found.ops for t in (*op.inputs, *op.outputs)}
    number = {t: first - 1 - t if t >= first else t for t in tensors}
    return tuple(renumbered(op, number) for op in found.ops), found.types


def _without_gaps(found: Expression, first: int, gone: Mapping[int, int]) -> Expression:
    """The expression whose new tensors are numbered one by one again."""
    if not gone:
        return found
    kept = [t for t in range(first, first + len(found.types)) if t not in gone]
    number = {t: t for op in found.ops for t in (*op.inputs, *op.outputs)}
    number |= {t: first + place for place, t in enumerate(kept)}
    return replace(
        found,
        types=tuple(found.types[t - first] for t in kept),
        ops=tuple(renumbered(op, number) for op in found.ops),
    )
