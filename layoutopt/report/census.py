"""Count what moves data at run time: packs, unpacks and transposes outside constants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from layoutopt.cluster import is_transpose
from layoutopt.graph import DispatchRegion, Graph, Opaque, Pack, Structured, Unpack
from layoutopt.objective import is_identity


@dataclass(frozen=True, slots=True)
class Census:
    """Run-time conversions of a graph."""

    pack: int
    unpack: int
    transpose: int

    def __add__(self, other: Census) -> Census:
        return Census(
            self.pack + other.pack, self.unpack + other.unpack, self.transpose + other.transpose
        )


def count(graph: Graph) -> Census:
    """Conversions among the ops of a graph that run each time."""
    live = [
        inner
        for op in graph.ops
        if not all(t in graph.constants for t in op.outputs)
        for inner in (op.ops if isinstance(op, DispatchRegion) else (op,))
    ]
    names = [op.name for op in live if isinstance(op, Opaque)]
    transposes = sum(
        isinstance(op, Structured) and is_transpose(op) and not is_identity(op) for op in live
    )
    packs = sum(isinstance(op, Pack) for op in live)
    unpacks = sum(isinstance(op, Unpack) for op in live)
    return Census(
        packs + names.count("linalg.pack"), unpacks + names.count("linalg.unpack"), transposes
    )


def total(graphs: Iterable[Graph]) -> Census:
    """Conversions of several graphs together."""
    return sum((count(g) for g in graphs), Census(0, 0, 0))
