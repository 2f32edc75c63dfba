"""Costs for ``--objective=conversions``: the fewest run-time conversions, then the smallest.

One integer stands for three wishes in order: how many packs, unpacks, transposes and im2col copies
run, how many KiB they move, and which form is estimated to be the faster one. The weights
are so large that no sum of a lesser wish outweighs one unit of a greater one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from layoutopt.candidates.candidate import Candidate, PhysicalForm
from layoutopt.candidates.conversion import Conversion
from layoutopt.candidates.partition import is_root, is_transpose
from layoutopt.ir.graph import Pack, Structured, Unpack

_RANKS = 8
"""Forms of one cluster that are told apart by their estimate; slower ones are not told apart."""


@dataclass(frozen=True, slots=True)
class Moves:
    """What a form only moves: ops and bytes read and written by them."""

    count: int
    size_bytes: int


def moves(form: PhysicalForm) -> Moves:
    """The run-time conversions inside a form."""
    graph = form.graph
    found = [op for op in graph.ops if is_move(op)]
    size = sum(graph.types[t].size_bytes for op in found for t in (*op.inputs, *op.outputs))
    return Moves(len(found), size)


def _at_least_one(found: Moves, form: PhysicalForm) -> Moves:
    """A conversion counts though it only fills padding anew, which is not a move by its maps."""
    if found.count:
        return found
    ends = (*form.inputs, *form.outputs)
    return Moves(1, sum(form.graph.types[t].size_bytes for t in ends))


def is_move(op: object) -> bool:
    """Whether an op only moves data between layouts: pack, unpack, transpose, im2col."""
    if isinstance(op, Pack | Unpack):
        return True
    if not isinstance(op, Structured) or not op.is_copy or not op.sources:
        return False
    return is_root(op) or (is_transpose(op) and not is_identity(op))


def is_identity(op: Structured) -> bool:
    """Whether a transpose moves unit dims only."""
    moving = [[d for form in m for d in form.dims if op.domain[d] != 1] for m in op.maps]
    return moving[0] == moving[1]


@dataclass(frozen=True)
class Movable:
    """What may move data in one graph, and how much that counts."""

    forms: Mapping[Candidate, PhysicalForm]
    costs_ns: Mapping[Candidate, int]
    changes: Mapping[Conversion, PhysicalForm]
    """A conversion that is not among these is free."""
    runs: int = 1

    @property
    def groups(self) -> dict[int, list[Candidate]]:
        """Candidates by cluster."""
        found: dict[int, list[Candidate]] = {}
        for candidate in self.costs_ns:
            found.setdefault(candidate.cluster, []).append(candidate)
        return found

    @property
    def rank(self) -> dict[Candidate, int]:
        """The place of each candidate among those of its cluster, the fastest first."""
        return {
            candidate: min(place, _RANKS - 1)
            for group in self.groups.values()
            for place, candidate in enumerate(sorted(group, key=self.costs_ns.__getitem__))
        }

    @cached_property
    def inside(self) -> dict[Candidate, Moves]:
        """The moves in each candidate."""
        return {c: moves(form) for c, form in self.forms.items()}

    @cached_property
    def between(self) -> dict[Conversion, Moves]:
        """The moves of each conversion."""
        return {c: _at_least_one(moves(form), form) for c, form in self.changes.items()}

    @property
    def most_kib(self) -> int:
        """What the largest moves of all tensors and clusters move together, or more."""
        largest: dict[int, int] = {}
        for conversion, m in self.between.items():
            tensor = conversion.tensor
            largest[tensor] = max(largest.get(tensor, 0), m.size_bytes)
        for c, m in self.inside.items():
            largest[-1 - c.cluster] = max(largest.get(-1 - c.cluster, 0), m.size_bytes)
        return sum(size // 1024 + 1 for size in largest.values())


def conversion_objective(
    parts: Sequence[Movable],
) -> list[tuple[dict[Candidate, int], dict[Conversion, int]]]:
    """Costs of candidates and conversions of each graph, for one run of it."""
    per_kib = _RANKS * sum(p.runs * (len(p.groups) + 1) for p in parts)
    per_move = per_kib * sum(p.runs * (p.most_kib + 1) for p in parts)

    def weighed(m: Moves) -> int:
        return m.count * per_move + -(-m.size_bytes // 1024) * per_kib

    found = []
    for part in parts:
        rank = part.rank
        costs = {c: weighed(part.inside[c]) + rank[c] for c in part.costs_ns}
        found.append((costs, {c: weighed(m) for c, m in part.between.items()}))
    return found
