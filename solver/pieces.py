"""Where a problem falls apart: tensors that alone join what is ahead of them to what is behind.

Without such a tensor, a *joint*, the problem is in two: no candidate stands on both sides. A piece
that makes a joint makes it in one layout, and only the piece that reads it converts it. So pieces
are solved apart, once for each layout of the joint between them (`joints.py`). A tensor that some
candidate makes in several layouts at once is no joint.

Joints are articulation points of the graph of tensors and candidates (Hopcroft and Tarjan,
Algorithm 447, 1973). Given tensors join nothing, unless candidates make them as well, or their
conversions cost something, which all readers share.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import networkx as nx
from networkx.utils import UnionFind

from layoutopt.solver.derivability import Derivability
from layoutopt.solver.problem import Problem

Node = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Pieces:
    """``of``: the piece of each candidate. ``joints``: (maker, reader) by tensor."""

    of: tuple[int, ...]
    joints: dict[int, tuple[int, int]]


def pieces(problem: Problem, smallest: int) -> Pieces:
    """Split a problem without budgets; pieces of fewer candidates are joined to a neighbour."""
    graph = _graph(problem)
    held = {d.tensor for d in problem.demanded} | {t for t, _ in problem.given}
    made = (Counter(t for t, _ in set(c.outputs)) for c in problem.candidates)
    held |= {tensor for counts in made for tensor, layouts in counts.items() if layouts > 1}
    cut = [n for n in nx.articulation_points(graph) if n[0] == "tensor" and n[1] not in held]
    rest = graph.copy()
    rest.remove_nodes_from(cut)
    group: dict[int, int] = {}
    for number, nodes in enumerate(nx.connected_components(rest)):
        group |= {i: number for kind, i in nodes if kind == "candidate"}
    joining = _Joining([group[i] for i in range(len(problem.candidates))])
    sides = {tensor: _sides(graph, problem, tensor) for _, tensor in sorted(cut)}
    joining.join_around(sides)
    joining.grow(sides, smallest)
    return joining.result(sides)


def _graph(problem: Problem) -> "nx.Graph[Node]":
    tables = Derivability(problem)
    converted = {c.tensor for i, c in enumerate(problem.conversions) if not tables.is_free(i)}
    alone = {t for t, _ in problem.given} - converted - tables.tensor_makers.keys()
    graph: nx.Graph[Node] = nx.Graph()
    for i, candidate in enumerate(problem.candidates):
        graph.add_node(("candidate", i))
        for tensor, _ in (*candidate.inputs, *candidate.outputs):
            if tensor not in alone:
                graph.add_edge(("candidate", i), ("tensor", tensor))
    for demand in problem.demanded:
        graph.add_node(("tensor", demand.tensor))
    return graph


def _sides(graph: "nx.Graph[Node]", problem: Problem, tensor: int) -> tuple[list[int], list[int]]:
    """Makers and readers of a tensor."""
    around = sorted(i for _, i in graph["tensor", tensor])
    makers = [i for i in around if any(t == tensor for t, _ in problem.candidates[i].outputs)]
    readers = [i for i in around if any(t == tensor for t, _ in problem.candidates[i].inputs)]
    return makers, readers


_Sides = dict[int, tuple[list[int], list[int]]]


class _Joining:
    """Pieces that become one."""

    def __init__(self, group: list[int]) -> None:
        self._group = group
        self._joined = UnionFind(group)

    def _of(self, candidate: int) -> int:
        return int(self._joined[self._group[candidate]])

    def _join(self, candidates: Iterable[int]) -> None:
        self._joined.union(*(self._group[i] for i in candidates))

    def _ends(self, makers: list[int], readers: list[int]) -> tuple[int, int] | None:
        """The piece that makes a joint and the other one that reads it."""
        made, read = {self._of(i) for i in makers}, {self._of(i) for i in readers}
        if len(made) != 1 or len(read) != 1 or made == read:
            return None
        return made.pop(), read.pop()

    def join_around(self, sides: _Sides) -> None:
        """Join the pieces around tensors that are no joints."""
        waiting = True
        while waiting:
            waiting = False
            for makers, readers in sides.values():
                around = {self._of(i) for i in (*makers, *readers)}
                if len(around) > 1 and self._ends(makers, readers) is None:
                    self._join((*makers, *readers))
                    waiting = True

    def grow(self, sides: _Sides, smallest: int) -> None:
        """Join small pieces to those that read what they make, or make what they read."""
        sizes: dict[int, int] = {}
        for i in range(len(self._group)):
            sizes[self._of(i)] = sizes.get(self._of(i), 0) + 1
        for makers, readers in sides.values():
            ends = self._ends(makers, readers)
            if ends is not None and min(sizes[end] for end in ends) < smallest:
                whole = sum(sizes[end] for end in ends)
                self._join((*makers, *readers))
                sizes[self._of(makers[0])] = whole

    def result(self, sides: _Sides) -> Pieces:
        """The pieces, numbered in order."""
        roots = sorted({self._of(i) for i in range(len(self._group))})
        number = {root: n for n, root in enumerate(roots)}
        joints = {}
        for tensor, (makers, readers) in sides.items():
            ends = self._ends(makers, readers)
            if ends is not None:
                joints[tensor] = number[ends[0]], number[ends[1]]
        return Pieces(tuple(number[self._of(i)] for i in range(len(self._group))), joints)
