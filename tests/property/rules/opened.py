"""Graphs of several ops with sizes that are known at run time only, the same wherever they meet."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import networkx as nx
from hypothesis import strategies as st

from layoutopt.ir.affine import Affine, IndexMap
from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.ir.graph import (
    Concat,
    Extension,
    FromTensor,
    FusionBarrier,
    Gather,
    Graph,
    Insert,
    Op,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
)
from layoutopt.ir.size import symbol
from layoutopt.ir.types import TensorType
from tests.property.rules.symbolic import MOST

Draw = Callable[..., Any]
"""Hypothesis' ``draw``."""


def opened_together(draw: Draw, graph: Graph) -> Graph:
    """The graph with symbols for some of the sizes that it leaves free."""
    size_of: dict[End, int] = {}
    free = free_sizes(graph)
    chosen = draw(st.integers(0, max(0, len(free) - 1)))
    for place, group in enumerate(free):
        if place != chosen and not draw(st.booleans()):
            continue
        divisor = draw(st.sampled_from([1, 1, 2, 4]))
        planned = max(group.size, divisor)
        size = symbol(f"s{place}", 1, MOST * divisor, divisor, planned)
        size_of |= dict.fromkeys(group.more, size)
    return with_sizes_at(graph, size_of)


@dataclass(frozen=True)
class FreeSize:
    """Dims and loops that have one size, or so much more, whatever number that is."""

    more: Mapping[End, int]
    """By dim or loop, how much larger than the size it is."""
    size: int
    """The number that it is now."""


def free_sizes(graph: Graph, shifted: bool = False) -> tuple[FreeSize, ...]:
    """The sizes that a graph leaves free.

    ``shifted``: those too that are a number more or less in other tensors, as pads make them.
    """
    ties = _Ties(graph, shifted=shifted)
    for number, op in enumerate(graph.ops):
        ties.add(number, op)
    groups = sorted(map(sorted, nx.connected_components(ties.found)), key=str)
    return tuple(
        ties.free_size(group) for group in groups if _FIXED_END not in group and ties.fits(group)
    )


def with_sizes_at(graph: Graph, size_of: Mapping[End, int]) -> Graph:
    """The graph with these sizes in place of its own."""
    types = tuple(
        TensorType(tuple(size_of.get((0, t, d), n) for d, n in enumerate(kind.shape)), kind.element)
        for t, kind in enumerate(graph.types)
    )
    ops = (_with_domain(op, number, size_of) for number, op in enumerate(graph.ops))
    return replace(graph, types=types, ops=tuple(ops))


End = tuple[int, int, int]
"""(0, tensor, dim) or (1, op, loop)."""
_FIXED_END: End = (2, 0, 0)
"""What a dim is tied to whose size has to stay the number that it is."""


def _with_domain(op: Op, number: int, size_of: Mapping[End, int]) -> Op:
    if not isinstance(op, Structured):
        return op
    domain = (size_of.get((1, number, d), n) for d, n in enumerate(op.domain))
    return replace(op, domain=tuple(domain))


@dataclass
class _Ties:
    """Which dims and loops have one size."""

    graph: Graph
    shifted: bool = False
    found: Any = field(default_factory=nx.Graph)
    sizes: dict[End, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for t, kind in enumerate(self.graph.types):
            for d, n in enumerate(kind.shape):
                self.sizes[0, t, d] = n
                self.found.add_node((0, t, d))

    def shape(self, tensor: int) -> tuple[int, ...]:
        return self.graph.types[tensor].shape

    def fits(self, group: Sequence[End]) -> bool:
        """Whether ends that are to be one size are one number: ties of a broadcast may be two."""
        edges = self.found.subgraph(group).edges(data="shifted")
        return all(shifted or self.sizes[a] == self.sizes[b] for a, b, shifted in edges)

    def free_size(self, group: Sequence[End]) -> FreeSize:
        """The least size of a group, and how much more the others are."""
        least = min(self.sizes[end] for end in group)
        return FreeSize({end: self.sizes[end] - least for end in group}, least)

    def tie(self, one: End, other: End, shifted: bool = False) -> None:
        """Two ends are one size; ``shifted``: or as far apart as they are now."""
        before = self.found.get_edge_data(one, other, {"shifted": True})["shifted"]
        self.found.add_edge(one, other, shifted=shifted and before)

    def fix(self, *ends: End) -> None:
        for end in ends:
            self.tie(end, _FIXED_END)

    def same(self, one: int, other: int, dims: Sequence[bool], shifts: Sequence[bool] = ()) -> None:
        """Tie dims of two tensors, and fix the others: those but that may be shifted."""
        for d, tied in enumerate(dims):
            if tied:
                self.tie((0, one, d), (0, other, d))
            elif self.shifted and shifts and shifts[d]:
                self.tie((0, one, d), (0, other, d), shifted=True)
            else:
                self.fix((0, one, d), (0, other, d))

    def add(self, number: int, op: Op) -> None:
        match op:
            case Structured():
                self._structured(number, op)
            case Pad():
                kept = [not (a or b) for a, b in zip(op.low, op.high, strict=True)]
                self.same(op.source, op.result, kept, [True] * len(kept))
            case Slice():
                whole = self._whole(op, op.result, op.source)
                self.same(op.source, op.result, whole, [s == 1 for s in op.strides])
            case Insert():
                self.same(op.destination, op.result, [True] * len(op.offsets))
                whole = self._whole(op, op.source, op.result)
                self.same(op.source, op.result, whole, [s == 1 for s in op.strides])
            case Scatter():
                for source, offsets in zip(op.sources, op.offsets, strict=True):
                    places = zip(offsets, op.strides, self.shape(source), self.shape(op.result),
                                 strict=True)  # fmt: skip
                    dims = [o == 0 and s == 1 and n == m for o, s, n, m in places]
                    self.same(source, op.result, dims)
            case Concat():
                for place, source in enumerate(op.sources):
                    dims = [d != op.axis for d in range(len(self.shape(source)))]
                    grows = place == 0 and op.sources.count(source) == 1
                    self.same(source, op.result, dims, [grows] * len(dims))
            case Reshape():
                self._reshape(op.source, op.result)
            case Gather():
                self._gather(op)
            case FusionBarrier():
                self.same(op.source, op.result, [True] * len(self.shape(op.source)))
            case Extension():
                self._extension(number, op)
            case _:
                for t in (*op.inputs, *op.outputs):
                    self.fix(*((0, t, d) for d in range(len(self.shape(t)))))

    def _whole(self, op: Slice | Insert, part: int, whole: int) -> list[bool]:
        """The dims that are taken from end to end."""
        places = zip(op.offsets, op.strides, self.shape(part), self.shape(whole), strict=True)
        return [o == 0 and s == 1 and n == m for o, s, n, m in places]

    def _structured(self, number: int, op: Structured) -> None:
        for d, n in enumerate(op.domain):
            self.sizes[1, number, d] = n
            self.found.add_node((1, number, d))
        for tensor, index_map in zip((*op.sources, *op.results), op.maps, strict=True):
            self._read(number, tensor, index_map)
        for init, result in zip(op.inits, op.results, strict=True):
            if isinstance(init, FromTensor):
                self.same(init.tensor, result, [True] * len(self.shape(result)))
        if not op.inputs:  # a constant
            self.fix(*((1, number, d) for d in range(len(op.domain))))

    def _read(self, number: int, tensor: int, index_map: IndexMap) -> None:
        for d, form in enumerate(index_map):
            window = self._window(number, form) if self.shifted else None
            if window is not None:
                self.tie((0, tensor, d), (1, number, window), shifted=True)
                self.fix(*((1, number, loop) for loop in form.dims if loop != window))
            elif form.plain_dim is None:
                self.fix((0, tensor, d), *((1, number, loop) for loop in form.dims))
            else:
                self.tie((0, tensor, d), (1, number, form.plain_dim))

    def _window(self, number: int, form: Affine) -> int | None:
        """The loop that moves a window by one element; None where none does."""
        op = self.graph.ops[number]
        assert isinstance(op, Structured)
        if form.plain_dim is not None or any(c < 0 for _, c in form.terms):
            return None
        moves = [loop for loop, c in form.terms if c == 1 and loop not in op.reduction_dims]
        return moves[0] if len(moves) == 1 else None

    def _reshape(self, source: int, result: int) -> None:
        """Dims that stay are those ahead of and behind what changes."""
        one, other = self.shape(source), self.shape(result)
        first = 0
        while first < min(len(one), len(other)) and one[first] == other[first]:
            self.tie((0, source, first), (0, result, first))
            first += 1
        last = 0
        while last < min(len(one), len(other)) - first and one[-1 - last] == other[-1 - last]:
            last += 1
            self.tie((0, source, len(one) - last), (0, result, len(other) - last))
        for tensor, shape in ((source, one), (result, other)):
            self.fix(*((0, tensor, d) for d in range(first, len(shape) - last)))

    def _read_in_place(self, op: ComputedReads) -> dict[int, list[int | None]]:
        """The dims of what is read that are the result's: read where they are written."""
        made, found = self.shape(op.results[0]), {}
        for read in (scalar for scalar in op.body.ops if scalar.name == "tensor.extract"):
            tensor = op.sources[int(read.attribute("source"))]
            places = [op.body.op_of(place) for place in read.operands]
            found[tensor] = [
                d if p is not None and p.name == "linalg.index" and n == made[d] else None
                for d, (p, n) in enumerate(zip(places, self.shape(tensor), strict=True))
            ]
        return found

    def _gather(self, op: Gather) -> None:
        for d, place in enumerate(op.table_dims):
            end = (0, op.table, d)
            if place is None:
                self.fix(end)
            else:
                self.tie(end, (0, op.result, place))
        for d, place in enumerate(op.index_dims):
            self.tie((0, op.indices, d), (0, op.result, place))

    def _extension(self, number: int, op: Extension) -> None:
        loops = {**op.loops(self.graph.types)}
        if isinstance(op, ComputedReads):
            loops |= self._read_in_place(op)
        along: dict[Hashable, End] = {}
        for t in (*op.inputs, *op.outputs):
            for d, loop in enumerate(loops.get(t, (None,) * len(self.shape(t)))):
                if loop is None:
                    self.fix((0, t, d))
                else:
                    self.tie(along.setdefault(loop, (0, t, d)), (0, t, d))
