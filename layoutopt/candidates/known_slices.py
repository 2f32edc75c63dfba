"""Slices that an e-graph has, so that no rule makes one of the same a second time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutopt.ir.graph import Graph, Op, Slice
from layoutopt.ir.renaming import renamed, renumbered
from layoutopt.ir.types import TensorType
from layoutopt.rules.rule import Expression


class KnownSlices:
    """The slices of a graph that grows: hash-consing, for the one op that rules keep remaking.

    Two rules that undo each other, one that merges ops behind slices and one that slices first,
    would else go on until the e-graph is full, each time over other tensors of the same.
    """

    def __init__(self, graph: Graph) -> None:
        self._made: dict[tuple[Slice, TensorType], int] = {}
        self.add(graph.ops, graph.types)

    def add(self, ops: Sequence[Op], types: Sequence[TensorType]) -> None:
        """Know the slices among ``ops`` as well; of several of the same the first one counts."""
        for op in ops:
            if isinstance(op, Slice):
                self._made.setdefault(_cut(op, types), op.result)

    def reused(self, found: Expression, graph: Graph) -> Expression:
        """The expression over slices that are there, in place of new ones of the same."""
        if found.atomic:
            return found
        first, types = len(graph.types), (*graph.types, *found.types)
        same: dict[int, int] = {}
        ops: list[Op] = []

        def known(tensor: int) -> int:
            return same.get(tensor, tensor)

        for op in found.ops:
            shared = renamed(op, known)
            if isinstance(shared, Slice) and shared.result >= first:
                there = self._made.get(_cut(shared, types))
                if there is not None:
                    same[shared.result] = there
                    continue
            ops.append(shared)
        if not same:
            return found
        kept = [t for t in range(first, len(types)) if t not in same]
        number = {t: t for op in ops for t in (*op.inputs, *op.outputs)}
        number |= {t: first + place for place, t in enumerate(kept)}
        moved = tuple(renumbered(op, number) for op in ops)
        return replace(found, types=tuple(types[t] for t in kept), ops=moved)


def _cut(op: Slice, types: Sequence[TensorType]) -> tuple[Slice, TensorType]:
    """What a slice is, whatever tensor it makes."""
    return replace(op, result=-1), types[op.result]
