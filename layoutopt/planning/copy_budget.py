"""``--weight-budget``: what copies of weights in other layouts may take, in all functions."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace

from layoutopt.candidates.choice import is_free
from layoutopt.candidates.conversion import Conversion
from layoutopt.ir.backward_slice import backward_slice
from layoutopt.ir.graph import Graph
from layoutopt.ir.weights import meaning
from layoutopt.lowering.hoisted_copy import hoisted_copy


@dataclass(frozen=True, slots=True)
class HeldCopies:
    """The copies of weights that functions planned before hold: another one reads them too."""

    names: Mapping[int, Hashable] = field(default_factory=dict)
    """Of the function's constants, as all functions have them."""
    copies: frozenset[Hashable] = frozenset()

    def meaning(self, graph: Graph, tensor: int) -> Hashable:
        """What tells a weight of ``graph`` from those of other functions."""
        ops, _ = backward_slice(graph, tensor)
        return meaning(replace(graph, ops=ops, names=()), tensor, self.names)

    def holds(self, graph: Graph, conversion: Conversion) -> bool:
        """Whether a weight of ``graph`` is there already as a conversion would make it."""
        if not self.copies:
            return False
        copy = hoisted_copy(graph, conversion.tensor, conversion.target)
        return meaning(copy.graph, copy.result, self.names) in self.copies


@dataclass(frozen=True, slots=True)
class CopyBudget:
    """A bound on the bytes of one function's copies."""

    size_bytes: int
    held: HeldCopies = HeldCopies()

    def taken_by(self, graph: Graph, copy: Conversion) -> int:
        """The bytes that a copy of a weight adds to what is there."""
        if is_free(graph, copy) or self.held.holds(graph, copy):
            return 0
        return copy.target.size_bytes(graph.types[copy.tensor])
